"""Who handles what the parts of an attempt tell: the one place that connects them.

Handlers tell in turn.  What they tell is handled before they are asked for more, so that the
journal has everything in the order in which it happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pitstop.events import Event, TrainerConnected
from pitstop.link.beacon import Stop
from pitstop.link.messages import RestoreRequest, SnapshotReport, VitalsReport
from pitstop.supervisor.attempt.parts import AttemptParts
from pitstop.supervisor.lifecycle.occurrences import (
    ArenaReceived,
    CheckpointAsked,
    Occurrence,
    RoleAsked,
    StatusAsked,
    StopAsked,
    TrainerCameIn,
    TrainerLeft,
    TrainingAsked,
)
from pitstop.supervisor.lifecycle.table import Instruction, Trigger
from pitstop.supervisor.records import notices

_Handler = Callable[[Any], Iterable[Occurrence] | None]
_Action = Callable[[], Iterable[Occurrence] | None]


class Dispatch:
    """Hands every occurrence to those that it concerns."""

    def __init__(self, parts: AttemptParts) -> None:
        self._parts = parts
        self._handlers = handlers(parts)
        self._actions = actions(parts)

    def perform(self, occurrences: Iterable[Occurrence]) -> None:
        for each in occurrences:
            match each:
                case Event():
                    self.perform(self._record(each))
                case Instruction():
                    self.perform(self._actions[each]() or ())
                case _:
                    for handler in self._handlers[type(each)]:
                        self.perform(handler(each) or ())

    def _record(self, event: Event) -> Iterator[Occurrence]:
        """The way of every event to the journal, and what follows from it."""
        parts = self._parts
        if (told := parts.job.heard(event)) is not None:
            yield told
        parts.resources.event_log.record(event)
        parts.mirroring.recorded(event)
        parts.hang_monitor.recorded(event)
        parts.desk.recorded(event)
        if (asked := parts.condition.on_event(event)) is not None:
            yield StopAsked(asked)
        yield from parts.gang.recorded(event)
        if isinstance(event, TrainerConnected):
            yield from parts.plan.version_changes(event)


def handlers(parts: AttemptParts) -> Mapping[type, tuple[_Handler, ...]]:
    """By the kind of an occurrence, in the order in which they are called."""
    desk, trainers, persister = parts.desk, parts.trainers, parts.resources.persister
    return {
        Trigger: (parts.resources.lifecycle.feed,),
        StopAsked: (parts.stopping.asked,),
        RoleAsked: (trainers.role_asked, parts.membership.role_asked, parts.gang.role_asked),
        StatusAsked: (lambda asked: desk.tell_status(asked, parts.status()),),
        CheckpointAsked: (
            lambda asked: desk.await_checkpoint(asked, trainers.ask_checkpoint(asked.name)),
        ),
        TrainingAsked: (trainers.training_asked,),
        TrainerCameIn: (parts.command.came_in, parts.restoring.came_in),
        TrainerLeft: (trainers.left,),
        ArenaReceived: (lambda received: persister.set_arena(received.offer, received.fd),),
        SnapshotReport: (parts.saving.taken,),
        RestoreRequest: (parts.restoring.requested,),
        VitalsReport: (parts.flight.on_vitals,),
    }


def actions(parts: AttemptParts) -> Mapping[Instruction, _Action]:
    """What is done for an instruction; one that feeds the lifecycle stands last in its row."""
    beacon, saving, command = parts.resources.beacon, parts.saving, parts.command
    return {
        Instruction.RAISE_GRACEFUL: parts.gang.raise_stop,
        Instruction.RAISE_NOW: lambda: beacon.request_stop(Stop.NOW),
        Instruction.ARM_DEADLINE: parts.stopping.arm_deadline,
        Instruction.TERMINATE_TRAINER: parts.stopping.terminate,
        Instruction.KILL_TRAINER: command.kill,
        Instruction.TELL_DAEMONIZED: lambda: (notices.DAEMONIZED,),
        Instruction.RESTART_PERSISTER: saving.restart,
        Instruction.GIVE_UP_PERSISTER: saving.give_up,
        Instruction.PERSIST_NEWEST: lambda: saving.persist_last(command.last_save_reason),
        Instruction.FINISH_PERSISTER: saving.finish,
        Instruction.LEAVE_PERSISTER: saving.leave,
        Instruction.CONCLUDE: parts.conclude,
        Instruction.FINISH: command.finish,
    }
