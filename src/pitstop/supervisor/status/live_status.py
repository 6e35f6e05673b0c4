"""The status of an attempt that is under way.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pitstop.link.beacon import Phase, Progress
from pitstop.supervisor.lifecycle.table import State
from pitstop.supervisor.records.attempt_state import AttemptState
from pitstop.supervisor.records.best_epoch import BestEpoch
from pitstop.supervisor.status.status import Status, of_role, with_best, with_progress

# Users see three states of a live run; ending and saving are how it stops.
_PUBLIC: Mapping[State, str] = {
    State.STARTING: "starting",
    State.RUNNING: "running",
    State.STOPPING: "stopping",
    State.ENDING: "stopping",
    State.SAVING: "stopping",
    State.SAVED: "stopping",
    State.COMPLETED: "completed",
    State.STOPPED: "stopped",
    State.FAILED: "failed",
}


def live_status(
    identity: Status,
    state: State,
    attempt_state: AttemptState,
    progress: Progress,
    now_seconds: float,
) -> Status:
    """The status of an attempt; `identity` has run, attempt, processes and sizes."""
    status = replace(
        identity,
        state=_PUBLIC[state],
        step=attempt_state.checkpoint_step,
        epoch=attempt_state.checkpoint_epoch,
        checkpoint_step=attempt_state.checkpoint_step,
        checkpoint_age_seconds=_age_seconds(attempt_state, now_seconds),
        level=attempt_state.level,
        level_reason=attempt_state.level_reason,
        resumed_from_step=attempt_state.resumed_from_step,
    )
    if attempt_state.role is not None and not status.level:
        status = of_role(status, attempt_state.role)
    if attempt_state.best is not None and not _is_beaten(attempt_state.best, identity):
        status = with_best(status, attempt_state.best)
    if attempt_state.role is not None and progress.phase is Phase.STARTING:
        return replace(status, phase=attempt_state.role.role)
    return with_progress(status, progress)


def _is_beaten(best: BestEpoch, before: Status) -> bool:
    """Whether an earlier attempt had a better epoch."""
    known = before.best_metric == best.metric and before.best_value is not None
    return known and (before.best_value or 0.0) <= best.value


def _age_seconds(attempt_state: AttemptState, now_seconds: float) -> float | None:
    saved_seconds = attempt_state.checkpoint_seconds
    # The clock may have been set back since.
    return None if saved_seconds is None else max(0.0, now_seconds - saved_seconds)
