"""Which installed package a process runs."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from pitstop.engine import made_folders, program, witness

_CONSOLE_SCRIPT = str(Path(sysconfig.get_path("scripts")) / "pitstop")


@pytest.mark.parametrize(
    ("arguments", "package"),
    [
        (("-m", "lab.train", "--epochs", "3"), "lab"),
        (("-u", "-X", "dev", "-mlab"), "lab"),
        (("train.py", "-m", "lab"), ""),
        (("-c", "import lab"), ""),
        (("-",), ""),
        ((), ""),
        ((_CONSOLE_SCRIPT, "run"), "pitstop"),
    ],
)
def test_the_package_of_a_command(arguments: tuple[str, ...], package: str) -> None:
    assert program.package_of(arguments) == package


@pytest.mark.parametrize(
    ("file", "is_user"),
    [
        ("/opt/venv/lib/python3.11/site-packages/lab/models.py", True),
        ("/opt/venv/lib/python3.11/site-packages/lab.py", True),
        ("/opt/venv/lib/python3.11/site-packages/labels/models.py", False),
        ("/opt/venv/lib/python3.11/site-packages/keras/lab/models.py", False),
    ],
)
def test_the_package_that_runs_is_the_users(
    file: str, is_user: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "lab.train"])
    witness.is_user_file.cache_clear()
    code = compile("import sys; frame = sys._getframe()", file, "exec")
    names = dict[str, object]()
    exec(code, names)
    found = made_folders.script_frame(names["frame"])  # type: ignore[arg-type]
    assert witness.is_user_file(file) is is_user
    assert (found is names["frame"]) is is_user
    witness.is_user_file.cache_clear()
