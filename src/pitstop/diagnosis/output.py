"""The output of a run as a person saw it in the end."""

from __future__ import annotations

import re

from pitstop.plain_text import ESCAPES, plain

_PASTED = re.compile(r"(?:\\x1b|\\u001b|\\033|\\e|\^\[|\u241b)\[[0-9;]*m")
"""A colour as a page, JSON or `cat -v` writes it."""
_BARE = re.compile(r"\[(?:(?:\d{1,3};)*\d{1,3})?m")
"""A colour whose escape character was lost; believed only where one is taken back, too."""


def clean(text: str) -> str:
    """The text without colours, and of lines that were overwritten the last state.

    A progress bar rewrites its line with carriage returns and backspaces.
    """
    shown = _PASTED.sub("", ESCAPES.sub("", text)).replace("\b", "")
    if "[0m" in shown:
        shown = _BARE.sub("", shown)
    return plain("\n".join(_last_state(line) for line in shown.split("\n")))


def last_lines(text: str, count: int) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()][-count:]


def _last_state(line: str) -> str:
    states = [state for state in line.split("\r") if state.strip()]
    return states[-1].rstrip() if states else ""
