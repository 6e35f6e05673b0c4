"""What the supervisor remembers of an attempt: a fold over its events.  Pure."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pitstop import events
from pitstop.cluster.spec import EVALUATOR
from pitstop.record import Frozen
from pitstop.supervisor.records.history import BestEpoch, History, best_of, better

EXIT_CUT_SHORT = "exit_cut_short"  # the code of a notice of `pitstop.supervisor.attempt.membership`


class AttemptState(Frozen):
    """The facts that later decisions and the status need."""

    stop_requested: bool = False
    stop_sources: frozenset[str] = frozenset()  # the sources that have asked for a stop
    bad: events.NonFiniteLoss | events.NonFiniteWeights | None = None  # the first
    script_ended: bool = False
    cut_short: bool = False  # its process was ended while it waited, after the script's end
    exit_words: str = "0"  # what the script gave back when it asked to exit
    raised: bool = False  # an exception has ended the script; its process may still be there
    trainer_stopped: bool = False
    trains: bool = False  # a training has begun and not ended
    waits_for_others: bool = False  # its steps need gradients of other processes of the cluster
    over: bool = False  # the last training has ended, and the script has not failed or exited since
    role: events.RoleTaken | None = None  # the part of one of its processes in a cluster
    released: events.MemberReleased | None = None  # the leader of the cluster says that it is over
    broken: events.GangBroken | None = None  # a member that it trains together with is gone
    uninstrumented: bool = False  # a process reported that nothing of it can be seen
    rollback_refused: bool = False  # numbers are not finite, and the run may not go back any more
    resume_refused: bool = False  # the saved state does not fit the script
    level: str = ""
    level_reason: str = ""
    resumed_from_step: int | None = None
    waits_at_step: int | None = None  # of a saved `fit` that has not ended, until a `fit` starts
    checkpoint_step: int | None = None  # step of the newest durable checkpoint
    checkpoint_epoch: int | None = None
    checkpoint: str = ""  # its folder's name; of a training that saves itself, the script's folder
    checkpoint_seconds: float | None = None
    checkpoint_bytes: int = 0  # its size, 0 before the first of the attempt
    save_seconds: float = 0.0  # what it took to write, 0 before the first of the attempt
    common_step: int | None = None  # newest step that all members which train together have saved
    dead_workers: frozenset[int] = frozenset()  # pids of children that ended without a request
    best: BestEpoch | None = None
    last_epoch: events.EpochEnded | None = None

    @property
    def stop_asked_here(self) -> bool:
        """Whether this run itself was asked to stop, and not only its leader."""
        return bool(self.stop_sources - {"cluster"})

    @property
    def serves(self) -> bool:
        """Whether the process is a server of a cluster, which never ends by itself."""
        return self.role is not None and self.role.role == "server"

    @property
    def is_idle(self) -> bool:
        """Whether it is a server, or a member that has not failed and shows no steps."""
        return self.serves or (
            self.role is not None and self.role.role == "member" and not self.raised
        )

    @property
    def saves_itself(self) -> bool:
        """Whether it trains in a session of TensorFlow's, which saves by itself, or not at all."""
        return self.role is not None and self.role.role in ("monitored_session", "session")

    @property
    def is_saved_by_script(self) -> bool:
        return self.saves_itself and self.checkpoint_step is not None

    @property
    def ends_as_released(self) -> bool:
        """Whether it has no state of its own, and ends as the leader of its cluster ended."""
        evaluates = self.role is not None and self.role.role == EVALUATOR
        # Who trains is released from a training that has completed if it has not begun, or has
        # come to its own end.
        completed = self.released is not None and self.released.outcome == "completed"
        is_late = completed and (self.role is not None or (self.script_ended and not self.raised))
        return self.is_idle or evaluates or is_late or (self.saves_itself and self.saves_nothing)

    @property
    def saves_nothing(self) -> bool:
        """Whether it is a part of a cluster or not instrumented, and has no checkpoint.

        A coordinator is saved like any training, from its first step on.
        """
        coordinates = self.role is not None and self.role.role == "coordinator"
        unsaved = (self.role and not (coordinates and self.trains)) or self.uninstrumented
        return bool(unsaved) and self.checkpoint_step is None and not self.trainer_stopped


def left_by(history: History) -> AttemptState:
    saved = history.script_saved
    return AttemptState(
        best=best_of(history.epochs),
        waits_at_step=0 if history.trains else None,
        checkpoint_step=saved.step if saved else None,
        checkpoint=saved.folder if saved else "",
    )


def tell(attempt_state: AttemptState, event: events.Event, now_seconds: float) -> AttemptState:
    change = _CHANGES.get(type(event))
    if change is not None:
        attempt_state = replace(attempt_state, **change(event, attempt_state))
    if isinstance(event, events.CheckpointCommitted | events.ScriptSaved):
        attempt_state = replace(attempt_state, checkpoint_seconds=now_seconds)
    return attempt_state


_CHANGES: Mapping[type[events.Event], Callable[[Any, AttemptState], dict[str, Any]]] = {
    events.StopRequested: lambda event, state: {
        "stop_requested": True,
        "stop_sources": state.stop_sources | {event.source},
    },
    events.NonFiniteLoss: lambda event, state: {"bad": state.bad or event},
    events.NonFiniteWeights: lambda event, state: {"bad": state.bad or event},
    events.TrainerConnected: lambda _, __: {"script_ended": False, "raised": False},
    events.ScriptEnded: lambda _, __: {"script_ended": True},
    events.ExceptionRaised: lambda _, __: {"raised": True, "over": False},
    events.ExitCalled: lambda event, _: {"over": False, "exit_words": event.code},
    events.TrainerStopped: lambda _, __: {"trainer_stopped": True},
    events.FitStarted: lambda event, _: {
        "trains": True,
        "over": False,
        "waits_at_step": None,
        "waits_for_others": bool(event.data.get(events.WAITS_FOR_OTHERS)),
    },
    events.FitEnded: lambda _, __: {"trains": False, "over": True},
    events.FitRestored: lambda _, __: {"trains": False, "over": True},
    events.Notice: lambda event, state: {
        "cut_short": state.cut_short or event.code == EXIT_CUT_SHORT,
        "resume_refused": state.resume_refused or event.code == "resume_refused",
    },
    events.LevelKnown: lambda event, state: {
        "level": event.level,
        "level_reason": event.reason,
        "waits_at_step": None if event.has_deviated else state.waits_at_step,
    },
    events.Restored: lambda event, _: {"resumed_from_step": event.step, "waits_at_step": None},
    events.ResumeChosen: lambda event, _: {
        "checkpoint_step": event.step,
        "checkpoint_epoch": event.epoch,
        "checkpoint": event.checkpoint,
        "level": event.level,
        "waits_at_step": event.step if event.in_fit else None,
    },
    events.CheckpointCommitted: lambda event, _: {
        "checkpoint_step": event.step,
        "checkpoint_epoch": event.epoch,
        "checkpoint": event.path,
        "checkpoint_bytes": event.size_bytes,
        "save_seconds": event.seconds,
    },
    events.ScriptSaved: lambda event, _: {
        "checkpoint_step": event.step,
        "checkpoint": event.folder,
    },
    events.EpochEnded: lambda event, state: {
        "best": better(state.best, event),
        "last_epoch": event,
    },
    events.WorkerDied: lambda event, state: {"dead_workers": state.dead_workers | {event.pid}},
    # One run may start all tasks of a cluster: what counts is the one that trains.
    events.RoleTaken: lambda event, state: {
        "role": state.role
        if state.role and state.saves_itself and state.role.pid != event.pid
        else event
    },
    events.RollbackRefused: lambda _, __: {"rollback_refused": True},
    events.GangBroken: lambda event, _: {"broken": event},
    events.GangSaved: lambda event, _: {"common_step": event.step},
    events.MemberReleased: lambda event, _: {"released": event},
    events.InstrumentationUnavailable: lambda _, __: {"uninstrumented": True},
}
