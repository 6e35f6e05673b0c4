"""The loop of one attempt: it waits for occurrences, checks what is due, and has both handled."""

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pitstop.cluster.spec import ASSEMBLING
from pitstop.events import Event, TrainerConnected
from pitstop.link.beacon import Stop
from pitstop.link.messages import RestoreRequest, SnapshotReport, VitalsReport
from pitstop.supervisor.attempt.command import Command
from pitstop.supervisor.attempt.flight import Flight
from pitstop.supervisor.attempt.gang import GangPart
from pitstop.supervisor.attempt.membership import Membership
from pitstop.supervisor.attempt.plan import AttemptResources, RunningCommand
from pitstop.supervisor.attempt.stopping import Stopping
from pitstop.supervisor.attempt.trainer_reception import TrainerReception
from pitstop.supervisor.control.requests import ClientReception, LeaderRequest, RequestDesk
from pitstop.supervisor.hangs.hang_monitor import HangMonitor
from pitstop.supervisor.helpers.mirroring import Mirroring
from pitstop.supervisor.helpers.restoring import Restoring
from pitstop.supervisor.helpers.saving import Saving
from pitstop.supervisor.lifecycle import occurrences
from pitstop.supervisor.lifecycle.table import Instruction, Trigger
from pitstop.supervisor.processes import family
from pitstop.supervisor.processes.job_watch import JobWatch
from pitstop.supervisor.records import notices
from pitstop.supervisor.status import Status, live_status
from pitstop.supervisor.stops import signals
from pitstop.supervisor.stops.signals import Action, ReceivedSignal, suspend_self
from pitstop.supervisor.stops.stop_condition import ConditionWatch

_Handler = Callable[[Any], Iterable[occurrences.Occurrence] | None]
_Action = Callable[[], Iterable[occurrences.Occurrence] | None]
_IDLE_SECONDS = 0.5
_WATCHFUL_SECONDS = 0.05
_AGREEING_SECONDS = 0.002  # while the trainers of several members wait
_VERDICT_SECONDS = 3.0  # A supervisor that is silent from now on is late before that
_TURN_SECONDS = 0.05
_SAVE_PATIENCE_SECONDS = 10.0
"""The longest wait for the last save; the grace time, if that is shorter."""


class Supervision:
    """Connects the parts of an attempt: hands each occurrence to the parts that it concerns."""

    def __init__(self, resources: AttemptResources, running: RunningCommand) -> None:
        loop, persister = resources.event_loop, resources.persister
        self._plan = plan = resources.plan
        patience = min(_SAVE_PATIENCE_SECONDS, plan.request.grace_seconds)
        self._resources = resources
        self._trainers = TrainerReception(resources)
        self._restoring = Restoring(resources.catalog, persister, self._trainers.slot)
        self._saving = Saving(loop, persister, self._restoring, plan.history.losses, patience)
        self._mirroring = Mirroring(loop, resources.run.mirror)
        self._desk = RequestDesk()
        self._clients = ClientReception(loop, resources.run.control, self._desk)
        self._flight = Flight(resources, self._trainers.slot)
        self._hang_monitor = HangMonitor(plan.request.hang, resources.beacon, plan.stacks_file)
        self._job = JobWatch(plan.environment)
        self._condition = ConditionWatch(
            plan.request.stop_when,
            plan.history.epochs,
            rolls_back=plan.request.settings.rolls_back,
        )
        self._command = Command(resources, self._trainers, running)
        self._membership = Membership(resources, self._desk, self._trainers)
        self._gang = gang = GangPart(resources, self._restoring)
        command, trainers, saving = self._command, self._trainers, self._saving
        self._stopping = Stopping(resources, command, trainers, saving, self._membership, gang)
        self._handlers = self.handlers()
        self._actions = self.actions()
        resources.event_loop.watch(resources.run.signals, self._read_signals)
        self._perform(self._start())

    def run(self) -> int:
        lifecycle, event_loop = self._resources.lifecycle, self._resources.event_loop
        while not lifecycle.is_over:
            wait_seconds = _IDLE_SECONDS if lifecycle.is_calm else _WATCHFUL_SECONDS
            if self._gang.is_agreeing:
                wait_seconds = _AGREEING_SECONDS
            self._perform(event_loop.turn(wait_seconds))
            self._perform(self._tick(time.monotonic()))
        return self._command.exit_code

    def finish(self) -> None:
        """Waits for the other members, then for the mirror."""
        outcome = self._resources.lifecycle.state, self._command.exit_code
        self._perform(self._membership.finish(*outcome))
        patience = self._stopping.mirror_patience_seconds()
        self._perform(self._mirroring.finish(patience))

    def status(self) -> Status:
        resources, pid = self._resources, self._trainers.slot.present_pid or self._command.main.pid
        hangs = self._hang_monitor.report(time.monotonic(), self._trainers.watched_pid)
        plan, request, arena = self._plan, self._plan.request, resources.persister.arena
        identity = Status(
            state="",
            run_dir=str(request.run_dir),
            pid=pid,
            supervisor_pid=os.getpid(),
            attempt=plan.attempt,
            losses=plan.history.losses.count,
            rss_bytes=family.resident_bytes(pid),
            checkpoint_interval_seconds=self._saving.interval_seconds,
            snapshot_memory_bytes=arena.size_bytes if arena else None,
            snapshot_backing=arena.backing if arena else "",
            snapshot_limit_bytes=request.settings.snapshot_memory_bytes or None,
            started_seconds=plan.started_seconds,
            leader=resources.run.cluster.leader,
            members=resources.run.cluster.members,
            restarts=request.restarts.most,
            restarts_left=plan.restarts_left,
            rollbacks=len(plan.history.rollbacks),
            **hangs,
        )
        state, progress = resources.lifecycle.state, resources.beacon.progress()
        now = live_status(identity, state, resources.attempt_state, progress, time.time())
        now = replace(now, phase=ASSEMBLING) if self._gang.assembles else now
        return self._flight.seen(now)

    def last_words(self) -> tuple[str, ...]:
        """How it ended; nothing for a kernel, whose cell says so itself."""
        if self._plan.request.kernel:
            return ()
        seconds = max(0.0, time.time() - self._resources.run.started_seconds)
        state, exit_code = self._resources.lifecycle.state, self._command.exit_code
        run_dir, attempt_state = self._plan.request.run_dir, self._resources.attempt_state
        return notices.final_lines(state, exit_code, attempt_state, run_dir, seconds)

    def close(self) -> None:
        self._clients.close()
        self._membership.close()
        self._trainers.close()
        self._restoring.close()
        self._hang_monitor.close()
        self._flight.close()
        self._mirroring.close()

    def handlers(self) -> Mapping[type, tuple[_Handler, ...]]:
        """The handlers of each kind of occurrence, in the order in which they are called."""
        trainers = self._trainers
        return {
            Trigger: (self._resources.lifecycle.feed,),
            occurrences.StopAsked: (self._stopping.asked,),
            occurrences.StopAfterEpochAsked: (
                lambda asked: self._condition.await_epoch(asked.event),
            ),
            occurrences.RoleAsked: (
                trainers.role_asked,
                self._membership.role_asked,
                self._gang.role_asked,
            ),
            occurrences.StatusAsked: (self._status_asked,),
            occurrences.CheckpointAsked: (self._checkpoint_asked,),
            occurrences.TrainingAsked: (trainers.training_asked,),
            occurrences.TrainerCameIn: (self._command.came_in, self._restoring.came_in),
            occurrences.TrainerLeft: (trainers.left, self._command.left),
            occurrences.ArenaReceived: (self._take_arena,),
            SnapshotReport: (self._saving.taken,),
            RestoreRequest: (self._restoring.requested,),
            VitalsReport: (self._flight.on_vitals,),
        }

    def actions(self) -> Mapping[Instruction, _Action]:
        """The action of each instruction; one that feeds the lifecycle is last in its row."""
        beacon, saving, command = self._resources.beacon, self._saving, self._command
        return {
            Instruction.RAISE_GRACEFUL: self._gang.raise_stop,
            Instruction.RAISE_NOW: lambda: beacon.request_stop(Stop.NOW),
            Instruction.ARM_DEADLINE: self._stopping.arm_deadline,
            Instruction.TERMINATE_TRAINER: self._stopping.terminate,
            Instruction.KILL_TRAINER: command.kill,
            Instruction.TELL_DAEMONIZED: lambda: (notices.DAEMONIZED,),
            Instruction.RESTART_PERSISTER: saving.restart,
            Instruction.GIVE_UP_PERSISTER: saving.give_up,
            Instruction.PERSIST_NEWEST: lambda: saving.persist_last(command.last_save_reason),
            Instruction.FINISH_PERSISTER: saving.finish,
            Instruction.LEAVE_PERSISTER: saving.leave,
            Instruction.CONCLUDE: self._conclude,
            Instruction.FINISH: command.finish,
        }

    def _perform(self, happened: Iterable[occurrences.Occurrence]) -> None:
        """Depth first: the journal has everything in the order in which it happened."""
        for each in happened:
            match each:
                case Event():
                    self._perform(self._record(each))
                case Instruction():
                    self._perform(self._actions[each]() or ())
                case _:
                    for handler in self._handlers[type(each)]:
                        self._perform(handler(each) or ())

    def _record(self, event: Event) -> Iterator[occurrences.Occurrence]:
        """Records an event in the journal, and yields what follows from it."""
        if (told := self._job.heard(event)) is not None:
            yield told
        self._resources.event_log.record(event)
        self._mirroring.recorded(event)
        self._hang_monitor.recorded(event)
        self._desk.recorded(event)
        if (asked := self._condition.on_event(event)) is not None:
            yield occurrences.StopAsked(asked)
        yield from self._gang.recorded(event)
        if isinstance(event, TrainerConnected):
            yield from self._plan.version_changes(event)

    def _start(self) -> Iterator[occurrences.Occurrence]:
        self._saving.begin()
        yield from self._restoring.begin()
        self._mirroring.begin()
        self._membership.begin()
        self._flight.begin(self._command.main.pid)
        yield self._command.started()
        if self._job.seen is not None:
            yield self._job.seen
        yield from self._plan.environment_changes()

    def _tick(self, now_seconds: float) -> Iterator[occurrences.Occurrence]:
        lifecycle, screen = self._resources.lifecycle, self._resources.screen
        yield from self._saving.tick()
        yield from self._flight.take_forecasts()
        yield from self._trainers.tick(split=self._gang.is_split)
        yield from self._membership.tick()
        yield from self._gang.tick()
        if lifecycle.is_calm:
            yield from self._resources.run.spare.look(self._plan.spare, now_seconds)
            yield from self._stopping.look(now_seconds)
        is_idle = self._plan.is_idle(self._resources.beacon.phase())
        if lifecycle.is_calm and not is_idle:
            yield from self._hang_monitor.look(now_seconds, self._trainers.watched_pid)
        yield from self._stopping.check_deadline(now_seconds)
        yield from self._command.check_end()
        yield from self._trainers.check_arrival(now_seconds)
        if screen.due(now_seconds):
            screen.show(self.status())

    def _read_signals(self) -> Iterator[occurrences.Occurrence]:
        for received in self._resources.run.signals.take():
            yield from self._respond(received)
        yield from self._command.collect()

    def _respond(self, received: ReceivedSignal) -> Iterator[occurrences.Occurrence]:
        if received.asks_to_stop and self._resources.lifecycle.is_over:
            self._mirroring.give_up("a second stop ended the wait")
            self._membership.give_up()
        elif received.asks_to_stop:
            request, sender_pid = self._plan.request, received.sender_pid
            command = family.command_of(sender_pid) if sender_pid else ""
            if not command and sender_pid and sender_pid == request.launcher_pid:
                command = "pitstop launch"  # which is gone: the kernel sends the signal
            given_seconds = request.stops.kill_after_seconds
            left = signals.seconds_left(received.signal, command, given_seconds, os.environ)
            again = self._resources.attempt_state.stop_asked_here
            yield occurrences.StopAsked(
                signals.stop_request(received, command, again=again, seconds_left=left)
            )
        elif received.signal is signal.SIGTSTP:
            self._suspend()
        elif received.signal is signal.SIGWINCH:
            self._resources.resize()
        elif received.action is Action.CHECKPOINT:
            step, name = self._ask_checkpoint(), received.signal.name
            leader = self._resources.run.cluster.leader if isinstance(step, LeaderRequest) else ""
            yield notices.checkpoint_asked(name, taken=step is not None, leader=leader)

    def _suspend(self) -> None:
        stopped_at = time.monotonic()
        self._membership.suspend()
        self._command.main.suspend()
        self._resources.screen.suspend()
        suspend_self()
        self._resources.resize()
        away_seconds = time.monotonic() - stopped_at
        self._command.main.resume(away_seconds)
        self._stopping.resumed(away_seconds)
        self._trainers.resumed(away_seconds)

    def _status_asked(self, asked: occurrences.StatusAsked) -> None:
        if asked.of_all and (leader := self._resources.run.cluster.follows):
            leader.ask_rows()
        self._desk.tell_status(asked, self.status())

    def _checkpoint_asked(self, asked: occurrences.CheckpointAsked) -> None:
        cluster, step = self._resources.run.cluster, self._ask_checkpoint(asked.name)
        self._desk.await_checkpoint(
            asked,
            step,
            of_all=self._gang.is_formed,
            leader=str(cluster.awaited_leader or ""),
            by_script=self._resources.attempt_state.is_saved_by_script,
        )

    def _ask_checkpoint(self, name: str = "") -> int | LeaderRequest | None:
        step = None if self._gang.is_split else self._trainers.step_to_save
        if step is not None:
            self._gang.ask_checkpoint(name)
        elif follows := self._resources.run.cluster.follows:
            return LeaderRequest(follows.ask_checkpoint(name))
        return step

    def _take_arena(self, received: occurrences.ArenaReceived) -> None:
        if self._gang.is_split:
            os.close(received.fd)
        else:
            self._resources.persister.tell(received.offer, received.fd)

    def _conclude(self) -> Iterator[occurrences.Occurrence]:
        give_up_at, cluster = time.monotonic() + _VERDICT_SECONDS, self._resources.run.cluster
        while self._gang.awaits_verdict and (time.monotonic() < give_up_at or cluster.is_late):
            yield from self._resources.event_loop.turn(_TURN_SECONDS)
            yield from self._membership.tick()
            yield from self._gang.tick()
        yield from self._command.conclude()
