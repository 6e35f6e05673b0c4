"""What the supervisor remembers of an attempt: a fold over its events.  Pure."""

from __future__ import annotations

from dataclasses import replace

from pitstop.events import (
    CheckpointCommitted,
    EpochEnded,
    Event,
    GangBroken,
    InstrumentationUnavailable,
    LevelKnown,
    MemberReleased,
    Notice,
    Restored,
    ResumeChosen,
    RoleTaken,
    ScriptEnded,
    StopRequested,
    TrainerConnected,
    TrainerStopped,
    WorkerDied,
)
from pitstop.record import record
from pitstop.supervisor.records.best_epoch import BestEpoch, better


@record
class AttemptState:
    """The facts that later decisions and the status need.

    Attributes:
        role: the part of one of its processes in a cluster, which is not saved.
        released: the leader of its cluster has said that the training is over.
        broken: a member that it trains together with is gone.
        uninstrumented: a process reported that nothing of it can be seen.
        resume_refused: the saved state does not fit the script.
        checkpoint_step: step of the newest durable checkpoint.
        checkpoint: its folder's name.
        checkpoint_bytes: its size, 0 before the first of the attempt.
        save_seconds: what it took to write, 0 before the first of the attempt.
        dead_workers: process ids of the trainer's children that died unasked.
    """

    stop_requested: bool = False
    script_ended: bool = False
    trainer_stopped: bool = False
    role: RoleTaken | None = None
    released: MemberReleased | None = None
    broken: GangBroken | None = None
    uninstrumented: bool = False
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

    @property
    def serves(self) -> bool:
        """What runs is a server of a cluster, which never ends by itself."""
        return self.role is not None and self.role.role == "server"

    @property
    def saves_nothing(self) -> bool:
        """What runs is a part of a cluster, or not instrumented, and there is no checkpoint."""
        unsaved = self.role is not None or self.uninstrumented
        return unsaved and self.checkpoint_step is None and not self.trainer_stopped


def tell(attempt_state: AttemptState, event: Event, now_seconds: float) -> AttemptState:
    match event:
        case StopRequested():
            return replace(attempt_state, stop_requested=True)
        case TrainerConnected():
            return replace(attempt_state, script_ended=False)
        case ScriptEnded():
            return replace(attempt_state, script_ended=True)
        case TrainerStopped():
            return replace(attempt_state, trainer_stopped=True)
        case Notice(code="resume_refused"):
            return replace(attempt_state, resume_refused=True)
        case LevelKnown():
            return replace(attempt_state, level=event.level, level_reason=event.reason)
        case Restored():
            return replace(attempt_state, resumed_from_step=event.step)
        case ResumeChosen() | CheckpointCommitted():
            return _with_checkpoint(attempt_state, event, now_seconds)
        case EpochEnded() | WorkerDied():
            return _with_training(attempt_state, event)
        case _:
            return _with_unsaved(attempt_state, event)


def _with_unsaved(attempt_state: AttemptState, event: Event) -> AttemptState:
    match event:
        case RoleTaken():
            return replace(attempt_state, role=event)
        case GangBroken():
            return replace(attempt_state, broken=event)
        case MemberReleased():
            return replace(attempt_state, released=event)
        case InstrumentationUnavailable():
            return replace(attempt_state, uninstrumented=True)
        case _:
            return attempt_state


def _with_training(attempt_state: AttemptState, event: EpochEnded | WorkerDied) -> AttemptState:
    if isinstance(event, WorkerDied):
        return replace(attempt_state, dead_workers=attempt_state.dead_workers | {event.pid})
    return replace(attempt_state, best=better(attempt_state.best, event), last_epoch=event)


def _with_checkpoint(
    attempt_state: AttemptState, event: ResumeChosen | CheckpointCommitted, now_seconds: float
) -> AttemptState:
    if isinstance(event, ResumeChosen):
        chosen = _saved(attempt_state, event.step, event.epoch, event.checkpoint)
        return replace(chosen, level=event.level)
    return replace(
        _saved(attempt_state, event.step, event.epoch, event.path),
        checkpoint_seconds=now_seconds,
        checkpoint_bytes=event.size_bytes,
        save_seconds=event.seconds,
    )


def _saved(attempt_state: AttemptState, step: int, epoch: int, name: str) -> AttemptState:
    return replace(attempt_state, checkpoint_step=step, checkpoint_epoch=epoch, checkpoint=name)
