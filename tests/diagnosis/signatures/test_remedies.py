"""What is advised about one error in particular, in a supervised run and in a bare log."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.diagnosis.attempts import advice_of, exited, failed, log, raised

_TABLE = Path(__file__).with_name("remedies.tsv").read_text(encoding="utf-8").splitlines()[1:]
_TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 3, in f\n    {code}\n'


@pytest.mark.parametrize(("name", "word", "message"), [row.split("\t") for row in _TABLE])
def test_the_remedy_is_that_of_the_error(name: str, word: str, message: str) -> None:
    said = message.replace("\\n", "\n")
    supervised = advice_of(failed(raised(name, said, "Exception"), exited(1)))
    assert any(word in line for line in supervised)
    printed = log(f"{_TRACEBACK.format(code='f()')}{name}: {said}\n")
    assert any(word in line for line in advice_of(printed))


def test_a_list_of_gpus_that_is_empty_is_told_from_other_lists() -> None:
    for code, is_told in (('g = tf.config.list_physical_devices("GPU")[0]', True), ("x[3]", False)):
        told = _TRACEBACK.format(code=code)
        error = raised("IndexError", "list index out of range", traceback=told)
        advice = advice_of(failed(error, exited(1)))
        assert any("nvidia-smi" in line for line in advice) is is_told
