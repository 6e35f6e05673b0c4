"""The output of a run as a person saw it in the end."""

from __future__ import annotations

import re

# ECMA-48: control sequences, operating system commands, two-byte escapes.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")


def clean(text: str) -> str:
    """The text without colours, and of lines that were overwritten the last state.

    A progress bar rewrites its line with carriage returns and backspaces.
    """
    plain = _ESCAPES.sub("", text).replace("\b", "")
    return "\n".join(_last_state(line) for line in plain.split("\n"))


def last_lines(text: str, count: int) -> list[str]:
    """The last lines that are not blank."""
    return [line.strip() for line in text.splitlines() if line.strip()][-count:]


def _last_state(line: str) -> str:
    states = [state for state in line.split("\r") if state.strip()]
    return states[-1].rstrip() if states else ""
