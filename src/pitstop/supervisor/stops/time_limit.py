"""When to stop so that the save is done before the time is up.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pitstop.durations import duration
from pitstop.events import StopRequested
from pitstop.record import record
from pitstop.supervisor.lifecycle.deadline import TERMINATE_GRACE_SECONDS, Patience

MARGIN_SECONDS = 2.0
"""For everything that is not measured: noticing, exiting, a slower step."""

_RESERVE_SECONDS = 0.5
_LEAST_TERMINATE_SECONDS = 0.2
_SLURM_END = "SLURM_JOB_END_TIME"
# One may be under way when the last one is asked for.
_SAVES = 2


@record
class TimeLimit:
    """The time that a call of `pitstop run` has, from its start; it ends on CLOCK_MONOTONIC."""

    seconds: float
    ends_at_seconds: float
    set_by: str


def find(
    max_seconds: float | None,
    environment: Mapping[str, str],
    clock_seconds: float,
    started_seconds: float,
) -> TimeLimit | None:
    """The limit that was asked for (0 for none), or else the end of the Slurm job.

    An end that has passed is of a job that is not ours: a shell that outlived it.  See sbatch(1)
    for SLURM_JOB_END_TIME.  `started_seconds` (CLOCK_MONOTONIC) is the same moment as
    `clock_seconds`.
    """
    if max_seconds is not None:
        limit = TimeLimit(max_seconds, started_seconds + max_seconds, "--max-time")
        return limit if max_seconds > 0 else None
    end = environment.get(_SLURM_END, "")
    left_seconds = int(end) - clock_seconds if end.isascii() and end.isdecimal() else 0.0
    if left_seconds <= 0:
        return None
    return TimeLimit(left_seconds, started_seconds + left_seconds, "Slurm")


def sooner(one: TimeLimit | None, other: TimeLimit) -> TimeLimit:
    return other if one is None or other.ends_at_seconds < one.ends_at_seconds else one


def lead_seconds(step_seconds: float, save_seconds: float) -> float:
    return step_seconds + _SAVES * save_seconds + MARGIN_SECONDS


def request(
    limit: TimeLimit, now_seconds: float, step_seconds: float, save_seconds: float
) -> StopRequested | None:
    """The request to stop when it is time for it, else None."""
    left = limit.ends_at_seconds - now_seconds
    lead = lead_seconds(step_seconds, save_seconds)
    if left > lead:
        return None
    reason = (
        f"{max(0.0, left):.1f} s left of {duration(limit.seconds)} ({limit.set_by}), "
        f"up to {lead:.1f} s needed to stop"
    )
    return StopRequested(source="time_limit", urgency="graceful", reason=reason)


def within(
    limit: TimeLimit, wait: Patience, asked_at_seconds: float, save_seconds: float
) -> Patience:
    """A wait for the trainer, cut so that the newest snapshot can still be saved."""
    last_call = _last_call(limit, save_seconds)
    return replace(wait, seconds=max(0.0, min(wait.seconds, last_call - asked_at_seconds)))


def terminate_seconds(limit: TimeLimit | None, now_seconds: float, save_seconds: float) -> float:
    """The time from a SIGTERM to the SIGKILL, so that the newest snapshot can still be saved."""
    if limit is None:
        return TERMINATE_GRACE_SECONDS
    left = _last_call(limit, save_seconds) - now_seconds
    return min(TERMINATE_GRACE_SECONDS, max(_LEAST_TERMINATE_SECONDS, left))


def _last_call(limit: TimeLimit, save_seconds: float) -> float:
    return limit.ends_at_seconds - _SAVES * save_seconds - _RESERVE_SECONDS
