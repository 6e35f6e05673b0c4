"""What can be read off the user's command without running it.  Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from pitstop.supervisor.processes.invocation import InvocationKind, is_python_program, parse
from pitstop.supervisor.processes.wrappers import unwrapped

_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")


def is_python(command: Sequence[str]) -> bool:
    """Whether the command looks like Python: by its program or by its script."""
    words, _ = unwrapped(command)
    return is_python_program(words[0]) or words[0].endswith(".py")


def run_name(command: Sequence[str]) -> str:
    """A name for the run: the script's, the module's (-m), or the program's."""
    invocation = parse(command)
    if invocation.kind is InvocationKind.MODULE:
        return _fit(invocation.target.rpartition(".")[2])
    if invocation.kind is InvocationKind.CODE:
        return "python"
    # A launcher of another kind: its script names the run better than it does.
    scripts = [word for word in (invocation.target, *command) if word.endswith(".py")]
    return script_name(scripts[0] if scripts else invocation.target)


def script_name(word: str) -> str:
    return _fit(PurePath(word).stem if word.endswith((".py", ".sh")) else PurePath(word).name)


def _fit(name: str) -> str:
    return _UNFIT.sub("-", name).strip("-.") or "run"
