"""The run's part in a cluster, while an attempt is under way."""

import math
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace

from pitstop import events
from pitstop.cluster.cluster_link import MEMBERS_SECONDS, suspension_notice
from pitstop.cluster.leading import MemberRequest
from pitstop.cluster.messages import Beat, Release
from pitstop.cluster.roster import LATE_SECONDS, STORES, SUSPENDED
from pitstop.cluster.spec import ClusterSpec, Task
from pitstop.exit_codes import EXIT_STOPPED, EXIT_TERMINATED
from pitstop.link.beacon import Phase
from pitstop.link.messages import Refusal
from pitstop.machine import own_process
from pitstop.machine.own_process import is_suspended, is_there
from pitstop.record import Frozen
from pitstop.supervisor.attempt.leader_wait import LeaderWait
from pitstop.supervisor.attempt.plan import AttemptResources
from pitstop.supervisor.attempt.trainer_reception import TrainerReception
from pitstop.supervisor.control.requests import RequestDesk
from pitstop.supervisor.lifecycle.occurrences import Occurrence, RoleAsked, StopAsked
from pitstop.supervisor.lifecycle.table import Instruction, State, Trigger
from pitstop.supervisor.processes import family
from pitstop.supervisor.records import notices
from pitstop.supervisor.records.attempt_state import EXIT_CUT_SHORT

_WORKERS_SECONDS = 10.0  # for the other members that train, before the leader saves
_TURN_SECONDS = 0.1
_STORE_LOST = "parameter_server_lost"
_WORKER_LOST = "worker_lost"
_WITHOUT_SECONDS = 6.0
"""For the script, to fail by itself when a parameter server is gone; TensorFlow takes 1 to 4."""
_BACK_SECONDS = 60.0
"""For a worker to be started again from outside; TensorFlow would wait for ever."""
_WITHOUT_STEPS = 10  # so many more, where other workers may be at work
_SESSION_STEPS = 3  # the same in sessions, whose first steps have waited for all workers to come


class _LostMember(Frozen):
    """A member that is gone; since when (CLOCK_MONOTONIC) and at which step nothing is done.

    `stores`: it had variables; else steps that it had been given may never end.
    """

    task: str
    at_seconds: float
    step: int
    stores: bool


def _stores(task: str) -> bool:
    return Task.parse(task).kind == STORES


class Membership:
    """Hears the other members, and tells them what this run does."""

    def __init__(
        self, resources: AttemptResources, desk: RequestDesk, trainers: TrainerReception
    ) -> None:
        # If so, all members are on this machine, and end with their `pitstop launch`.
        self._launched = bool(resources.plan.request.launcher_pid)
        self._resources = resources
        self._desk = desk
        self._trainers = trainers
        self._cluster = resources.run.cluster
        self._leader_wait = LeaderWait(resources)
        self._watched = False
        self._ends_at_seconds = 0.0
        self._workers_until_seconds: float | None = None
        self._lost: _LostMember | None = None
        self._suspended_since: float | None = None

    def begin(self) -> None:
        if self._cluster.part is not None and not self._watched:
            self._watched = True
            heard = self._cluster.heard
            self._resources.event_loop.watch(self._cluster.part, lambda: self._tell(heard()))

    def role_asked(self, asked: RoleAsked) -> Iterator[Occurrence]:
        try:
            spec, task = ClusterSpec.from_json(asked.cluster), Task.parse(asked.event.task)
        except ValueError:
            # Of a coordinator, which is no task of its cluster.
            return
        if spec.has(task):
            yield from self._cluster.join(spec, task)
            self.begin()
            self._leader_wait.role_asked(asked.event.role)

    def tick(self) -> Iterator[Occurrence]:
        self._end_other_tasks()
        awaited = self._resources.attempt_state.saves_itself and self._workers_until_seconds is None
        if awaited and self._desk.awaits_release(self._trainers.watched_pid):
            # It has seen a stop that this run was not asked for, such as the script's own.
            self._end_session()
        if self._cluster.part is None:
            return
        yield from self._tell(self._cluster.tick(self._beat(self._resources.lifecycle.state.value)))
        yield from self._hand_on()
        self._lost = self._lost or self._lost_here()
        until_seconds = self._workers_until_seconds
        if until_seconds is not None and (
            not self._cluster.has_workers or time.monotonic() >= until_seconds
        ):
            self._workers_until_seconds = None
            self._desk.release(EXIT_STOPPED, self._trainers.watched_pid)
        if self._resources.lifecycle.is_calm:
            yield from self._end_without_member()
            yield from self._end_suspended()
            yield from self._end_without_leader()
            if self._resources.lifecycle.is_calm:
                yield from self._tell(self._leader_wait.look())

    def _hand_on(self) -> Iterator[Occurrence]:
        """Checkpoints that members were asked for are saved here, or by the leader."""
        for each in self._cluster.handed_on():
            if not isinstance(each, MemberRequest):
                told = self._desk.leader_answered(each.number, each.answer)
                if each.number and not told and isinstance(each.answer, Refusal):
                    # A signal has asked for it.
                    yield notices.nothing_to_save(each.answer.reason)
                continue
            name = each.asked.name
            saved = self._resources.catalog.manifests() if name else ()
            if any(name == manifest.info.name for manifest in saved):
                each.tell(Refusal(f"A checkpoint already has the name {name}."))
            else:
                yield from self._desk.checkpoint_asked(each, name)

    def _end_other_tasks(self) -> None:
        """Ends the other tasks once the one that saves has stopped: they would go on, or wait."""
        has_saved = self._resources.attempt_state.trainer_stopped and self._trainers.slot.left_at
        if has_saved and (tasks := self._trainers.tasks):
            there = tasks.keys() & family.living_descendants(())
            own_process.send(signal.SIGTERM, there - {self._trainers.slot.pid})
            tasks.clear()

    def _lost_here(self) -> _LostMember | None:
        """A task that this run started, that is gone, and that its training needs; else None."""
        attempt_state, tasks = self._resources.attempt_state, self._trainers.tasks
        if len(tasks) > 1 and attempt_state.saves_itself and attempt_state.trains:
            there = {task for pid, task in tasks.items() if is_there(pid)}
            for task in tasks.values():
                needed = _stores(task) or attempt_state.waits_for_others
                if task and task not in there and needed:
                    return self._lost_now(task)
        return None

    def _end_without_member(self) -> Iterator[Occurrence]:
        lost, progress, now = self._lost, self._resources.beacon.progress(), time.monotonic()
        if lost is None:
            return
        in_sessions = self._resources.attempt_state.waits_for_others
        in_step = progress.phase in (Phase.FIRST_STEP, Phase.TRAIN)
        waits = lost.stores or progress.phase is Phase.WAITING or (in_sessions and in_step)
        if progress.step != lost.step and lost.stores:
            self._lost = None  # The training goes on: only its connection was lost.
        elif progress.step != lost.step or not waits:
            self._lost = replace(lost, at_seconds=now, step=progress.step)
        elif now - lost.at_seconds >= self._patience_seconds(lost, progress.step_seconds):
            self._lost = None
            state = self._resources.attempt_state
            if state.script_ended and state.exit_words == "0" and not self._fails:
                words = f"The script has ended, and its process waits for {lost.task}, which is"
                yield events.Notice(EXIT_CUT_SHORT, f"{words} gone: ending it.")
                yield Trigger.HUNG
                return
            reason = f"{lost.task} is gone and the training cannot continue"
            code = _STORE_LOST if lost.stores else _WORKER_LOST
            yield events.Notice(code, f"{reason}: ending it.")
            if in_sessions and not lost.stores:
                yield StopAsked(events.StopRequested("cluster", "graceful", reason=reason))
            elif self._launched and not lost.stores:
                # It is not started again, and no attempt could begin without it.
                yield StopAsked(events.StopRequested("cluster", "now", reason=reason))
            else:
                yield Trigger.HUNG

    def _patience_seconds(self, lost: _LostMember, step_seconds: float) -> float:
        if lost.stores:
            return _WITHOUT_SECONDS
        for_good = self._launched or len(self._trainers.tasks) > 1
        until_back = _WITHOUT_SECONDS if for_good else _BACK_SECONDS
        in_sessions = self._resources.attempt_state.waits_for_others
        return until_back + (_SESSION_STEPS if in_sessions else _WITHOUT_STEPS) * step_seconds

    def _end_suspended(self) -> Iterator[Occurrence]:
        """Ends a process that is suspended, and that other members wait for."""
        role, now = self._resources.attempt_state.role, time.monotonic()
        tasks = self._trainers.tasks.keys()
        own = self._trainers.watched_pid or (role.pid if role else 0)
        pid = next(filter(is_suspended, {own, *tasks} - {0}), 0)
        is_awaited = self._cluster.follows or self._cluster.is_awaited or len(tasks) > 1
        since = self._suspended_since or now
        seconds = now - since
        if not (is_awaited and pid):
            if self._suspended_since is not None and seconds >= LATE_SECONDS:
                yield suspension_notice(seconds)
            self._suspended_since = None
            return
        self._suspended_since = since
        if seconds >= self._cluster.lease_seconds:
            progress = self._resources.beacon.progress()
            phase = role.role if role else progress.phase.name.lower()
            place = f"process {pid} was suspended, and others of the cluster wait for it"
            yield events.TrainingStalled(seconds, phase, progress.step, "stopped", place, "kill")
            if len(tasks) > 1:
                # The script decides what follows from its end.
                own_process.send(signal.SIGKILL, {pid}.intersection(family.living_descendants(())))
            else:
                yield Trigger.HUNG

    def _end_without_leader(self) -> Iterator[Occurrence]:
        """Ends this run if its leader has completed, and it can take no step without the leader.

        That holds for a worker that trains together with the leader, or has no session yet; a
        process that was started again may still have to say that it serves.
        """
        role, over_seconds = self._resources.attempt_state.role, self._cluster.over_seconds
        trains = not role and self._trainers.slot.pid
        waits = self._leader_wait.session_waits or trains
        if over_seconds >= self._cluster.linger_seconds and waits:
            reason = f"it completed {over_seconds:.0f} s ago"
            yield from self._tell(
                [events.MemberReleased(self._cluster.leader, "completed", 0, reason)]
            )

    def suspend(self) -> None:
        """Tells the others that this run will be silent for a while, and has not ended."""
        self._cluster.beat_now(self._beat(SUSPENDED))

    def hands_on(self, event: events.StopRequested) -> bool:
        """Asks a process or the leader for an orderly end; returns whether no signal is needed."""
        follows, attempt_state = self._cluster.follows, self._resources.attempt_state
        if attempt_state.saves_itself:
            self._end_session()
        if follows is not None and attempt_state.role and event.source != "cluster":
            follows.propose_stop(event.reason or event.signal or event.source)
            return True
        return self._desk.has_released

    def _end_session(self) -> None:
        """Lets a training that saves itself do so, once the others that train have ended."""
        if self._cluster.has_workers:
            self._workers_until_seconds = time.monotonic() + _WORKERS_SECONDS
            saved = self._resources.attempt_state.checkpoint_step is not None
            code = EXIT_STOPPED if saved else EXIT_TERMINATED
            self._cluster.end(Release("stopped", code, "the training was stopped"))
        elif self._cluster.follows is None or not self._resources.attempt_state.stop_requested:
            self._desk.release(EXIT_STOPPED, self._trainers.watched_pid)
        # Else the leader, which has been asked, says whether it goes on.

    def finish(self, state: State, exit_code: int) -> Iterator[Occurrence]:
        """Tells the other members how this run ended; the leader waits until they have ended.

        A run that has completed waits as long as it takes, until a second request to stop.
        """
        patience_seconds = math.inf if state is State.COMPLETED else MEMBERS_SECONDS
        self._ends_at_seconds = time.monotonic() + patience_seconds
        end = Release(state.value, exit_code, notices.outcome_of(state, exit_code))
        self._cluster.end(end)
        self._cluster.beat_now(self._beat(state.value))  # A request may end the wait at once.
        while self._cluster.is_awaited and time.monotonic() < self._ends_at_seconds:
            yield from self._resources.event_loop.turn(_TURN_SECONDS)
            yield from self.tick()
            self._cluster.end(end)

    def give_up(self) -> None:
        self._ends_at_seconds = 0.0

    def close(self) -> None:
        if self._watched and self._cluster.part is not None:
            self._resources.event_loop.forget(self._cluster.part)

    def _tell(self, heard: Iterable[events.Event]) -> Iterator[Occurrence]:
        for event in heard:
            is_lost = isinstance(event, events.MemberReleased) and event.outcome == "lost"
            is_over = self._cluster.over_seconds >= 0 and not self._resources.attempt_state.role
            if is_lost and is_over:
                continue  # The leader left when its training had completed: the script goes on.
            if isinstance(event, events.StopRequested):
                yield StopAsked(event)
            else:
                yield event
            self._lost = self._lost_with(event) or self._lost
            if isinstance(event, events.MemberReleased) and self._resources.lifecycle.is_live:
                yield from self._end(event)

    def _lost_with(self, event: events.Event) -> _LostMember | None:
        """The member that this event reports as lost, if TensorFlow needs it; else None.

        When a server is back, a session goes on by itself, from its checkpoint. TensorFlow goes on
        without a worker that has ended, but not without one that is silent, and not without all.
        A session whose steps need the gradients of all workers cannot go on without one.
        """
        attempt_state = self._resources.attempt_state
        coordinates = attempt_state.role is not None and attempt_state.role.role == "coordinator"
        if not (coordinates or attempt_state.saves_itself):
            return None
        match event:
            case events.MemberJoined(task) if self._lost and task == self._lost.task:
                self._lost = None
            case events.MemberEnded(task, _, state):
                waits = coordinates or attempt_state.waits_for_others
                if _stores(task) or (waits and state != "completed"):
                    return self._lost_now(task)
            case events.MemberRestarted(task) if coordinates and _stores(task):
                return self._lost_now(task)
        return None

    def _lost_now(self, task: str) -> _LostMember:
        step = self._resources.beacon.progress().step
        return _LostMember(task, time.monotonic(), step, _stores(task))

    def _end(self, event: events.MemberReleased) -> Iterator[Occurrence]:
        if self._resources.attempt_state.serves:
            # The server was answered when the event was recorded; from now on it has its time.
            yield Trigger.STOP_GRACEFUL
            yield Instruction.ARM_DEADLINE
        elif event.outcome == "completed" or not self._fails:
            reason = f"{event.leader}: {event.reason}"
            yield StopAsked(events.StopRequested("cluster", "graceful", reason=reason))

    @property
    def _fails(self) -> bool:
        """Whether this run ends for a reason of its own, which the leader knows."""
        found, state = self._resources.attempt_state, self._resources.lifecycle.state
        return found.raised or found.resume_refused or state is State.ENDING

    def _beat(self, state: str) -> Beat:
        progress, attempt_state = self._resources.beacon.progress(), self._resources.attempt_state
        role = attempt_state.role
        phase = role.role if role else progress.phase.name.lower()
        if (pid := self._trainers.watched_pid) and is_suspended(pid):
            phase = SUSPENDED
        return Beat(state, phase, progress.step, attempt_state.serves)
