"""Numbers of Python that a training step was traced with, and a resume that traces it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.events import LevelKnown
from tests.integration.compare import assert_identical
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import SCRIPTS, KerasRun
from tests.integration.supervisor.launch import run_alone

_SCRIPT = "keeps_constants.py"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("rate", ["1", "2"])
def test_a_step_that_keeps_another_number_is_not_exact(
    tmp_path: Path, forked: Interpreter, rate: str
) -> None:
    run_alone(tmp_path, *forked, SCRIPTS / _SCRIPT, rate, "plain.npy")
    options = ("--every", "2steps")
    run = KerasRun(tmp_path, _SCRIPT, (rate, "out.npy"), options, interpreter=forked)
    assert run.attempt("--die-at-step", "21").returncode != 0
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    is_same = (tmp_path / "out.npy").read_bytes() == (tmp_path / "plain.npy").read_bytes()
    known = run.last(LevelKnown)
    if rate == "1":
        assert is_same
        assert known.level == "exact", known.reason
    else:
        assert known.level == "not_exact"
        assert "the training step" in known.reason


@pytest.mark.timeout(300)
def test_tensors_that_a_layer_keeps_are_no_state(tmp_path: Path, forked: Interpreter) -> None:
    run_alone(tmp_path, *forked, SCRIPTS / "keeps_tensors.py", "plain.npz")
    options = ("--every", "1steps")
    run = KerasRun(tmp_path, "keeps_tensors.py", ("out.npz",), options, interpreter=forked)
    assert run.attempt("--die-at-step", "5").returncode != 0
    assert run.attempt("--die-at-step", "11").returncode != 0
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert b"is not the interrupted training" not in ended.stderr
    assert (tmp_path / "out.npz").read_bytes() == (tmp_path / "plain.npz").read_bytes()
    known = run.last(LevelKnown)
    assert known.level == "exact_by_replay", known.reason


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("step", "mode"), [("27", ()), ("75", ()), ("5", ("loop",))])
def test_calls_with_other_batch_sizes_have_the_graphs_of_one_process(
    tmp_path: Path, forked: Interpreter, step: str, mode: tuple[str, ...]
) -> None:
    script, options = "several_batch_sizes.py", ("--every", "1steps")
    run_alone(tmp_path, *forked, SCRIPTS / script, "plain.npz", *mode)
    run = KerasRun(tmp_path, script, ("out.npz", *mode), options, interpreter=forked)
    assert run.attempt("--die-at-step", "3").returncode != 0
    assert run.attempt("--die-at-step", step).returncode != 0
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert_identical(tmp_path / "plain.npz", tmp_path / "out.npz")
    assert run.last(LevelKnown).level == "exact"
