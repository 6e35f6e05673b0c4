"""The status of an attempt that is under way.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pitstop.link.beacon import Progress
from pitstop.supervisor.best_epoch import BestEpoch
from pitstop.supervisor.lifecycle import State
from pitstop.supervisor.status import Status, with_best, with_progress
from pitstop.supervisor.story import Story

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
    identity: Status, state: State, story: Story, progress: Progress, now_seconds: float
) -> Status:
    """The status from what is known.

    Args:
        identity: run, attempt, processes and sizes; everything else is filled in.
        state: of the lifecycle.
        story: of the attempt so far.
        progress: what the trainer published.
        now_seconds: seconds since the epoch.
    """
    status = replace(
        identity,
        state=_PUBLIC[state],
        step=story.checkpoint_step,
        epoch=story.checkpoint_epoch,
        checkpoint_step=story.checkpoint_step,
        checkpoint_age_seconds=_age_seconds(story, now_seconds),
        level=story.level,
        level_reason=story.level_reason,
        resumed_from_step=story.resumed_from_step,
    )
    if story.best is not None and not _is_beaten(story.best, identity):
        status = with_best(status, story.best)
    return with_progress(status, progress)


def _is_beaten(best: BestEpoch, before: Status) -> bool:
    """Whether an earlier attempt had a better epoch."""
    known = before.best_metric == best.metric and before.best_value is not None
    return known and (before.best_value or 0.0) <= best.value


def _age_seconds(story: Story, now_seconds: float) -> float | None:
    saved_seconds = story.checkpoint_seconds
    # The clock may have been set back since.
    return None if saved_seconds is None else max(0.0, now_seconds - saved_seconds)
