"""RUN/stop: a request to stop that needs no socket, only the file system."""

from __future__ import annotations

import contextlib
import stat
from pathlib import Path

from pitstop.events import StopRequested
from pitstop.machine.regular_file import open_regular

_READ_BYTES = 1000


def obey(path: Path) -> StopRequested | None:
    """The request that the file makes, None when it is not there; removes it.

    Its first line, if it has one, is the reason.  A file that cannot be read is a request all the
    same.
    """
    try:
        state = path.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(state.st_mode):
        return None
    reason = _first_line(path)
    with contextlib.suppress(OSError):
        path.unlink()
    return StopRequested("file", "graceful", sender_uid=state.st_uid, reason=reason)


def _first_line(path: Path) -> str:
    try:
        with open_regular(path) as file:
            text = file.read(_READ_BYTES).decode(errors="replace")
    except OSError:
        return ""
    return text.strip().partition("\n")[0].strip()
