"""How long to wait for the trainer to reach a boundary after a stop request."""

import math

from pitstop.events import StopDeadlinePassed
from pitstop.link.beacon import Phase, Progress
from pitstop.record import Frozen

TERMINATE_GRACE_SECONDS = 3.0  # between SIGTERM and SIGKILL

_STARTING_SECONDS = 0.5
_FIRST_STEP_SECONDS = 1.0
_LEAST_STEP_SECONDS = 5.0
_STEPS_OF_PATIENCE = 20
_RELEASED_SECONDS = 5.0  # for a server that was told to end
_PARENT_SECONDS = 15.0
"""For the script whose child has trained, stopped and ended: it may wait for it for ever."""


class Patience(Frozen):
    """How long to wait for the trainer, counted from the stop request, and why, for the journal."""

    seconds: float
    reason: str


def patience(
    progress: Progress,
    *,
    connected: bool,
    stopped: bool,
    grace_seconds: float,
    goes_on: bool = False,
    idle: bool = False,
    released: bool = False,
    left_seconds: float | None = None,
) -> Patience:
    """How long to wait for the trainer at its present position.

    It is short where nothing can be lost.  During a step it depends on the time of a step.  Where a
    boundary may be far, it is the whole grace time.  A script that has stopped training gets the
    grace time twice.

    Args:
        connected: an instrumented process is there to see the request.
        stopped: it said that it has stopped.
        goes_on: the script is not ours to end, and continues after its training.
        idle: it trains nothing, and waits for its user.
        released: it is a server, and the leader of its cluster has told it to end.
        left_seconds: from the request to the end of the process that trained, if it ended.
    """
    if released:
        return Patience(_RELEASED_SECONDS, "the server did not end after its release")
    if stopped and goes_on:
        return Patience(math.inf, "the script continued after its training")
    if stopped:
        return _patience_with_stopped(grace_seconds, left_seconds)
    if progress.phase is Phase.ENDED:
        return Patience(grace_seconds, "the script did not exit after its last line")
    if not connected:
        return Patience(grace_seconds, "the script did not end after the signal")
    if progress.phase is Phase.STARTING or idle:
        return Patience(min(_STARTING_SECONDS, grace_seconds), "no training was running")
    if progress.phase is Phase.FIRST_STEP:
        seconds = min(_FIRST_STEP_SECONDS, grace_seconds)
        return Patience(seconds, "the first step was still being prepared; nothing was lost")
    if progress.phase is Phase.TRAIN:
        steps_seconds = max(_LEAST_STEP_SECONDS, _STEPS_OF_PATIENCE * progress.step_seconds)
        return Patience(min(steps_seconds, grace_seconds), "the step did not end")
    name = progress.phase.name.lower().replace("_", " ")
    return Patience(grace_seconds, f"no step ended (phase: {name})")


def _patience_with_stopped(grace_seconds: float, left_seconds: float | None) -> Patience:
    if left_seconds is None:
        return Patience(2 * grace_seconds, "the script did not exit after its training stopped")
    seconds = min(left_seconds + _PARENT_SECONDS, 2 * grace_seconds)
    return Patience(seconds, "the script did not end after its training process")


def patience_with_one_of_several(grace_seconds: float, left_seconds: float | None) -> Patience:
    """The wait for workers of one script: one stops, the others wait for it, nothing is saved."""
    seconds = _LEAST_STEP_SECONDS if left_seconds is None else left_seconds
    return Patience(min(seconds, grace_seconds), "the script's workers wait for each other")


def patience_with_suspended(wait: Patience, most_seconds: float) -> Patience:
    """The wait for a process that is suspended: it cannot obey, and others may wait for it."""
    return Patience(min(wait.seconds, most_seconds), "its process was suspended")


def overdue(wait: Patience, waited_seconds: float, progress: Progress) -> StopDeadlinePassed | None:
    if waited_seconds < wait.seconds:
        return None
    return StopDeadlinePassed(round(waited_seconds, 3), progress.phase.name.lower(), wait.reason)
