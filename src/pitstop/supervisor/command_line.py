"""What can be read off the user's command without running it.  Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

_PYTHON = re.compile(r"(python|pypy)[0-9.]*$")
_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")


def is_python(command: Sequence[str]) -> bool:
    """Whether the command looks like Python: by its program or by its script."""
    return bool(_PYTHON.match(PurePath(command[0]).name)) or command[0].endswith(".py")


def run_name(command: Sequence[str]) -> str:
    """A name for the run: the script's, the module's (-m), or the program's."""
    scripts = [word for word in command if word.endswith(".py")]
    if scripts:
        return _fit(PurePath(scripts[0]).stem)
    if is_python(command) and "-m" in command[1:-1]:
        return _fit(command[command.index("-m") + 1].rpartition(".")[2])
    return _fit(PurePath(command[0]).name)


def _fit(name: str) -> str:
    return _UNFIT.sub("-", name).strip("-.") or "run"
