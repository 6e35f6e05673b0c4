"""What a command says about itself."""

from __future__ import annotations

import pytest

from pitstop.supervisor.processes.invocation import is_python, run_name


@pytest.mark.parametrize(
    ("command", "name", "python"),
    [
        (["python", "train.py"], "train", True),
        (["/usr/bin/python3.11", "-u", "src/my cnn.py", "--lr", "1"], "my-cnn", True),
        (["./train.py"], "train", True),
        (["python", "-m", "package.train"], "train", True),
        (["sh", "-c", "sleep 1"], "sh", False),
        (["pythonize", "x"], "pythonize", False),
        (["python", "träin 训练.py"], "träin-训练", True),
        (["..."], "run", False),
    ],
)
def test_name_and_kind(command: list[str], name: str, python: bool) -> None:
    assert run_name(command) == name
    assert is_python(command) is python
