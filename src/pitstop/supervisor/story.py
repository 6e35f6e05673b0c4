"""What the supervisor remembers of an attempt: a fold over its events.  Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pitstop.events import (
    CheckpointCommitted,
    EpochEnded,
    Event,
    LevelKnown,
    Notice,
    Restored,
    ResumeChosen,
    ScriptEnded,
    StopRequested,
    TrainerConnected,
    TrainerStopped,
    WorkerDied,
)
from pitstop.supervisor.best_epoch import BestEpoch, better


@dataclass(frozen=True)
class Story:
    """The facts that later decisions and the status need.

    Attributes:
        resume_refused: the saved state does not fit the script.
        checkpoint_step: step of the newest durable checkpoint.
        checkpoint: its folder's name.
        checkpoint_seconds: when it was written, seconds since the epoch.
        checkpoint_bytes: its size, 0 before the first of the attempt.
        save_seconds: what it took to write, 0 before the first of the attempt.
        dead_workers: process ids of the trainer's children that died unasked.
        best: the best epoch of the attempt.
        last_epoch: the last that ended.
    """

    stop_requested: bool = False
    script_ended: bool = False
    trainer_stopped: bool = False
    resume_refused: bool = False
    level: str = ""
    level_reason: str = ""
    resumed_from_step: int | None = None
    checkpoint_step: int | None = None
    checkpoint_epoch: int | None = None
    checkpoint: str = ""
    checkpoint_seconds: float | None = None
    checkpoint_bytes: int = 0
    save_seconds: float = 0.0
    dead_workers: frozenset[int] = frozenset()
    best: BestEpoch | None = None
    last_epoch: EpochEnded | None = None


def tell(story: Story, event: Event, now_seconds: float) -> Story:
    """The story with one more event."""
    match event:
        case StopRequested():
            return replace(story, stop_requested=True)
        case TrainerConnected():
            return replace(story, script_ended=False)
        case ScriptEnded():
            return replace(story, script_ended=True)
        case TrainerStopped():
            return replace(story, trainer_stopped=True)
        case Notice(code="resume_refused"):
            return replace(story, resume_refused=True)
        case LevelKnown():
            return replace(story, level=event.level, level_reason=event.reason)
        case Restored():
            return replace(story, resumed_from_step=event.step)
        case ResumeChosen() | CheckpointCommitted():
            return _with_checkpoint(story, event, now_seconds)
        case EpochEnded() | WorkerDied():
            return _with_training(story, event)
        case _:
            return story


def _with_training(story: Story, event: EpochEnded | WorkerDied) -> Story:
    if isinstance(event, WorkerDied):
        return replace(story, dead_workers=story.dead_workers | {event.pid})
    return replace(story, best=better(story.best, event), last_epoch=event)


def _with_checkpoint(
    story: Story, event: ResumeChosen | CheckpointCommitted, now_seconds: float
) -> Story:
    if isinstance(event, ResumeChosen):
        chosen = _saved(story, event.step, event.epoch, event.checkpoint)
        return replace(chosen, level=event.level)
    return replace(
        _saved(story, event.step, event.epoch, event.path),
        checkpoint_seconds=now_seconds,
        checkpoint_bytes=event.size_bytes,
        save_seconds=event.seconds,
    )


def _saved(story: Story, step: int, epoch: int, name: str) -> Story:
    return replace(story, checkpoint_step=step, checkpoint_epoch=epoch, checkpoint=name)
