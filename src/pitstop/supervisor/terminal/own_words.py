"""Our own words on the standard error, where no script writes beside us."""

from __future__ import annotations

import contextlib
import sys

from pitstop.plain_text import plain_line

PREFIX = "pitstop: "


def say(line: str) -> None:
    """Tells the user a line; nobody may be there to read it any more."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"{PREFIX}{plain_line(line)}\n")
            sys.stderr.flush()
