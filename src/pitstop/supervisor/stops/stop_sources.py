"""Looks for reasons to stop that are not reported: a file, the clock, the cloud."""

import contextlib
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from pitstop.durations import duration
from pitstop.events import StopRequested
from pitstop.machine.regular_file import open_regular
from pitstop.observation.schedulers import SLURM_JOB_END, end_seconds
from pitstop.record import Frozen
from pitstop.supervisor.lifecycle.deadline import TERMINATE_GRACE_SECONDS, Patience

MARGIN_SECONDS = 2.0  # for everything that is not measured: noticing, exiting, a slower step

_RESERVE_SECONDS = 0.5
_LEAST_TERMINATE_SECONDS = 0.2
# A save may be under way when the last one is asked for.
_SAVES = 2
_READ_BYTES = 1000
_LOOK_SECONDS = 0.25
_ASKED_SECONDS = 3.0  # for the answer of Slurm


class TimeLimit(Frozen):
    """The time that a call of `pitstop run` has, from its start; it ends on CLOCK_MONOTONIC."""

    seconds: float
    ends_at_seconds: float
    set_by: str

    @classmethod
    def find(
        cls,
        max_seconds: float | None,
        environment: Mapping[str, str],
        clock_seconds: float,
        started_seconds: float,
    ) -> Self | None:
        """The limit that was asked for (0: none), or the end of the Slurm job, see sbatch(1).

        An end that has passed is of a job that is not ours: a shell that outlived it.  Both times
        are of the same moment, the last by CLOCK_MONOTONIC.
        """
        if max_seconds is not None:
            limit = cls(max_seconds, started_seconds + max_seconds, "--max-time")
            return limit if max_seconds > 0 else None
        left_seconds = (end_seconds(environment) or 0.0) - clock_seconds
        if left_seconds <= 0:
            return None
        return cls(left_seconds, started_seconds + left_seconds, "Slurm")

    def request(
        self, now_seconds: float, step_seconds: float, save_seconds: float
    ) -> StopRequested | None:
        left = self.ends_at_seconds - now_seconds
        lead = lead_seconds(step_seconds, save_seconds)
        if left > lead:
            return None
        reason = (
            f"{max(0.0, left):.1f} s left of {duration(self.seconds)} ({self.set_by}), and "
            f"stopping needs up to {lead:.1f} s"
        )
        return StopRequested(source="time_limit", urgency="graceful", reason=reason)

    def last_call(self, save_seconds: float) -> float:
        """When the trainer must have ended, so that the newest snapshot can still be saved."""
        return self.ends_at_seconds - _SAVES * save_seconds - _RESERVE_SECONDS


def asked_end(environment: Mapping[str, str]) -> str:
    """SLURM_JOB_END_TIME, not set before Slurm 23.02, from %e of squeue(1); empty if unknown."""
    job = environment.get("SLURM_JOB_ID", "")
    if not job or end_seconds(environment) is not None:
        return ""
    import subprocess  # noqa: PLC0415 - each run loads this module

    words = ("squeue", "--noheader", "--jobs", job, "--format", "%e")
    try:
        answer = subprocess.run(
            words,
            env={**environment, "SLURM_TIME_FORMAT": "%s"},
            capture_output=True,
            text=True,
            timeout=_ASKED_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    end = answer.stdout.strip()
    return end if end_seconds({SLURM_JOB_END: end}) is not None else ""


def lead_seconds(step_seconds: float, save_seconds: float) -> float:
    return step_seconds + _SAVES * save_seconds + MARGIN_SECONDS


def obey(path: Path) -> StopRequested | None:
    """The request of the file, even if unreadable; its first line is the reason.  Removes it."""
    try:
        state = path.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(state.st_mode):
        return None
    text = ""
    with contextlib.suppress(OSError), open_regular(path) as file:
        text = file.read(_READ_BYTES).decode(errors="replace")
    with contextlib.suppress(OSError):
        path.unlink()
    reason = text.strip().partition("\n")[0].strip()
    return StopRequested("file", "graceful", sender_uid=state.st_uid, reason=reason)


@dataclass(eq=False)
class StopSources:
    """Asked in every turn of the loop; looks at file and cloud a few times a second."""

    _stop_file: Path
    limit: TimeLimit | None
    _preempted: Callable[[], StopRequested | None] = lambda: None
    _look_at: float = 0.0

    def request(
        self, now_seconds: float, step_seconds: float, save_seconds: float
    ) -> StopRequested | None:
        if self.limit is not None:
            asked = self.limit.request(now_seconds, step_seconds, save_seconds)
            if asked is not None:
                return asked
        if now_seconds < self._look_at:
            return None
        self._look_at = now_seconds + _LOOK_SECONDS
        return self._preempted() or obey(self._stop_file)

    def heard(self, asked: StopRequested, now_seconds: float) -> None:
        if asked.seconds_left is not None:
            ends_at_seconds = now_seconds + asked.seconds_left
            if self.limit is None or ends_at_seconds < self.limit.ends_at_seconds:
                set_by = asked.signal or asked.source
                self.limit = TimeLimit(asked.seconds_left, ends_at_seconds, set_by)

    def bound(self, wait: Patience, asked_at_seconds: float, save_seconds: float) -> Patience:
        """A wait for the trainer, cut so that the newest snapshot can still be saved."""
        if self.limit is None:
            return wait
        left = self.limit.last_call(save_seconds) - asked_at_seconds
        return replace(wait, seconds=max(0.0, min(wait.seconds, left)))

    def terminate_seconds(self, save_seconds: float) -> float:
        """The time from a SIGTERM to the SIGKILL, cut in the same way."""
        if self.limit is None:
            return TERMINATE_GRACE_SECONDS
        left = self.limit.last_call(save_seconds) - time.monotonic()
        return min(TERMINATE_GRACE_SECONDS, max(_LEAST_TERMINATE_SECONDS, left))
