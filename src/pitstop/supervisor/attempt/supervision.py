"""The loop of one attempt: waits, looks at what time has brought, and has it all handled."""

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pitstop.events import Event, TrainerConnected
from pitstop.link.beacon import Stop
from pitstop.link.messages import RestoreRequest, SnapshotReport, VitalsReport
from pitstop.supervisor.attempt.parts import AttemptParts
from pitstop.supervisor.attempt.plan import AttemptPlan, AttemptResources, RunningCommand
from pitstop.supervisor.lifecycle.occurrences import (
    ArenaReceived,
    CheckpointAsked,
    Occurrence,
    RoleAsked,
    StatusAsked,
    StopAfterEpochAsked,
    StopAsked,
    TrainerCameIn,
    TrainerLeft,
    TrainingAsked,
)
from pitstop.supervisor.lifecycle.table import Instruction, Trigger
from pitstop.supervisor.processes import family
from pitstop.supervisor.records import notices
from pitstop.supervisor.status import Status
from pitstop.supervisor.stops import signals
from pitstop.supervisor.stops.signals import Action, ReceivedSignal, suspend_self

_Handler = Callable[[Any], Iterable[Occurrence] | None]
_Action = Callable[[], Iterable[Occurrence] | None]
_IDLE_SECONDS = 0.5
_WATCHFUL_SECONDS = 0.05
_AGREEING_SECONDS = 0.002  # while the trainers of several members wait


def handlers(parts: AttemptParts) -> Mapping[type, tuple[_Handler, ...]]:
    """By the kind of an occurrence, in the order in which they are called."""
    desk, trainers = parts.desk, parts.trainers
    return {
        Trigger: (parts.resources.lifecycle.feed,),
        StopAsked: (parts.stopping.asked,),
        StopAfterEpochAsked: (lambda asked: parts.condition.await_epoch(asked.event),),
        RoleAsked: (trainers.role_asked, parts.membership.role_asked, parts.gang.role_asked),
        StatusAsked: (lambda asked: desk.tell_status(asked, parts.status()),),
        CheckpointAsked: (
            lambda asked: desk.await_checkpoint(
                asked, parts.ask_checkpoint(asked.name), of_all=parts.gang.is_formed
            ),
        ),
        TrainingAsked: (trainers.training_asked,),
        TrainerCameIn: (parts.command.came_in, parts.restoring.came_in),
        TrainerLeft: (trainers.left, parts.command.left),
        ArenaReceived: (parts.take_arena,),
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


class Supervision:
    """One attempt, from the start of the command to the end of its last process.

    The one place that connects the parts: it hands each occurrence to those that it concerns.
    """

    def __init__(
        self,
        plan: AttemptPlan,
        resources: AttemptResources,
        running: RunningCommand,
    ) -> None:
        self._plan = plan
        self._resources = resources
        self._parts = AttemptParts(plan, resources, running)
        self._handlers = handlers(self._parts)
        self._actions = actions(self._parts)
        resources.event_loop.watch(resources.run.signals, self._read_signals)
        self._perform(self._start())

    def run(self) -> int:
        lifecycle, event_loop = self._resources.lifecycle, self._resources.event_loop
        while not lifecycle.is_over:
            wait_seconds = _IDLE_SECONDS if lifecycle.is_calm else _WATCHFUL_SECONDS
            if self._parts.gang.is_agreeing:
                wait_seconds = _AGREEING_SECONDS
            self._perform(event_loop.turn(wait_seconds))
            self._perform(self._tick(time.monotonic()))
        return self._parts.command.exit_code

    def finish(self) -> None:
        """Waits for the other members, then for the mirror."""
        outcome = self._resources.lifecycle.state, self._parts.command.exit_code
        self._perform(self._parts.membership.finish(*outcome))
        patience = self._parts.stopping.mirror_patience_seconds()
        self._perform(self._parts.mirroring.finish(patience))

    def status(self) -> Status:
        return self._parts.status()

    def last_words(self) -> tuple[str, ...]:
        """How it ended; nothing for a kernel, whose cell says so itself."""
        if self._plan.request.kernel:
            return ()
        seconds = max(0.0, time.time() - self._plan.started_seconds)
        state, exit_code = self._resources.lifecycle.state, self._parts.command.exit_code
        run_dir, attempt_state = self._plan.request.run_dir, self._resources.attempt_state
        return notices.final_lines(state, exit_code, attempt_state, run_dir, seconds)

    def close(self) -> None:
        self._parts.close()

    def _perform(self, occurrences: Iterable[Occurrence]) -> None:
        """Depth first: the journal has everything in the order in which it happened."""
        for each in occurrences:
            match each:
                case Event():
                    self._perform(self._record(each))
                case Instruction():
                    self._perform(self._actions[each]() or ())
                case _:
                    for handler in self._handlers[type(each)]:
                        self._perform(handler(each) or ())

    def _record(self, event: Event) -> Iterator[Occurrence]:
        """Records an event in the journal, and yields what follows from it."""
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

    def _start(self) -> Iterator[Occurrence]:
        parts = self._parts
        parts.saving.begin()
        yield from parts.restoring.begin()
        parts.mirroring.begin()
        parts.membership.begin()
        parts.flight.begin(parts.command.main.pid)
        yield parts.command.started()
        if parts.job.seen is not None:
            yield parts.job.seen
        yield from self._plan.environment_changes()

    def _tick(self, now_seconds: float) -> Iterator[Occurrence]:
        parts, lifecycle, screen = self._parts, self._resources.lifecycle, self._resources.screen
        yield from parts.saving.tick()
        yield from parts.flight.take_forecasts()
        yield from parts.trainers.tick(split=parts.gang.is_split)
        yield from parts.membership.tick()
        yield from parts.gang.tick()
        if lifecycle.is_calm:
            yield from self._resources.run.spare.look(self._plan.spare, now_seconds)
            yield from parts.stopping.look(now_seconds)
        is_idle = self._plan.is_idle(self._resources.beacon.phase())
        if lifecycle.is_calm and not is_idle:
            yield from parts.hang_monitor.look(now_seconds, parts.trainers.watched_pid)
        yield from parts.stopping.check_deadline(now_seconds)
        yield from parts.command.check_end()
        yield from parts.trainers.check_arrival(now_seconds)
        if screen.due(now_seconds):
            screen.show(parts.status())

    def _read_signals(self) -> Iterator[Occurrence]:
        for received in self._resources.run.signals.take():
            yield from self._respond(received)
        yield from self._parts.command.collect()

    def _respond(self, received: ReceivedSignal) -> Iterator[Occurrence]:
        if received.asks_to_stop and self._resources.lifecycle.is_over:
            self._parts.mirroring.give_up("a second stop ended the wait")
            self._parts.membership.give_up()
        elif received.asks_to_stop:
            command = family.command_of(received.sender_pid) if received.sender_pid else ""
            given_seconds = self._plan.request.stops.kill_after_seconds
            left = signals.seconds_left(received.signal, command, given_seconds, os.environ)
            again = self._resources.attempt_state.stop_asked_here
            yield StopAsked(signals.stop_request(received, command, again=again, seconds_left=left))
        elif received.signal is signal.SIGTSTP:
            self._suspend()
        elif received.signal is signal.SIGWINCH:
            self._resources.resize()
        elif received.action is Action.CHECKPOINT:
            taken = self._parts.ask_checkpoint() is not None
            yield notices.checkpoint_asked(received.signal.name, taken=taken)

    def _suspend(self) -> None:
        stopped_at = time.monotonic()
        self._parts.membership.suspend()
        self._parts.command.main.suspend()
        self._resources.screen.suspend()
        suspend_self()
        self._resources.resize()
        away_seconds = time.monotonic() - stopped_at
        self._parts.command.main.resume(away_seconds)
        self._parts.stopping.resumed(away_seconds)
        self._parts.trainers.resumed(away_seconds)
