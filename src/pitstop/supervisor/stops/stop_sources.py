"""Looks for the reasons to stop that nobody reports: a file, the clock, the cloud."""

from __future__ import annotations

import contextlib
import stat
import time
from collections.abc import Callable
from pathlib import Path

from pitstop.events import StopRequested
from pitstop.machine.regular_file import open_regular
from pitstop.supervisor.lifecycle.deadline import Patience
from pitstop.supervisor.stops import time_limit
from pitstop.supervisor.stops.time_limit import TimeLimit

_READ_BYTES = 1000
_LOOK_SECONDS = 0.25


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


class StopSources:
    """Asked at every turn of the supervision; looks around now and then."""

    def __init__(
        self,
        stop_file: Path,
        limit: TimeLimit | None,
        preempted: Callable[[], StopRequested | None] = lambda: None,
    ) -> None:
        self.limit = limit
        self._stop_file = stop_file
        self._preempted = preempted
        self._look_at = 0.0

    def request(
        self, now_seconds: float, step_seconds: float, save_seconds: float
    ) -> StopRequested | None:
        """A reason to stop that has come up; None mostly."""
        if self.limit is not None:
            asked = time_limit.request(self.limit, now_seconds, step_seconds, save_seconds)
            if asked is not None:
                return asked
        if now_seconds < self._look_at:
            return None
        self._look_at = now_seconds + _LOOK_SECONDS
        return self._preempted() or obey(self._stop_file)

    def heard(self, asked: StopRequested, now_seconds: float) -> None:
        """Somebody asks for a stop, and may end the run by force after a while."""
        if asked.seconds_left is not None:
            set_by = asked.signal or asked.source
            given = TimeLimit(asked.seconds_left, now_seconds + asked.seconds_left, set_by)
            self.limit = time_limit.sooner(self.limit, given)

    def bound(self, wait: Patience, asked_at_seconds: float, save_seconds: float) -> Patience:
        if self.limit is None:
            return wait
        return time_limit.within(self.limit, wait, asked_at_seconds, save_seconds)

    def terminate_seconds(self, save_seconds: float) -> float:
        return time_limit.terminate_seconds(self.limit, time.monotonic(), save_seconds)
