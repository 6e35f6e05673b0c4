"""The run's part in a cluster, while an attempt is under way."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Iterable, Iterator

from pitstop.cluster.cluster_link import MEMBERS_SECONDS
from pitstop.cluster.messages import Beat, Release
from pitstop.cluster.roster import STORES, SUSPENDED
from pitstop.cluster.spec import ClusterSpec, Task
from pitstop.events import (
    Event,
    MemberEnded,
    MemberReleased,
    MemberRestarted,
    Notice,
    StopRequested,
)
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.machine.own_process import is_suspended
from pitstop.record import record
from pitstop.supervisor.attempt.plan import AttemptResources
from pitstop.supervisor.attempt.trainer_reception import TrainerReception
from pitstop.supervisor.control.requests import RequestDesk
from pitstop.supervisor.lifecycle.occurrences import Occurrence, RoleAsked, StopAsked
from pitstop.supervisor.lifecycle.table import Instruction, State, Trigger
from pitstop.supervisor.records import notices

_WORKERS_SECONDS = 10.0
"""For the other members that train, before the leader saves."""
_TERMINATED = 128 + signal.SIGTERM
"""The exit code of who trains, and nothing is saved."""
_TURN_SECONDS = 0.1
_STORE_LOST = "parameter_server_lost"
_WITHOUT_STORE_SECONDS = 6.0
"""For the script, to fail by itself when a parameter server is gone; TensorFlow takes 1 to 4."""


@record
class _LostStore:
    """A parameter server that has gone, when (CLOCK_MONOTONIC), and the step that was done."""

    task: str
    at_seconds: float
    step: int


class Membership:
    """Hears the other members, and tells them what this run does."""

    def __init__(
        self, resources: AttemptResources, desk: RequestDesk, trainers: TrainerReception
    ) -> None:
        self._resources = resources
        self._desk = desk
        self._trainers = trainers
        self._cluster = resources.run.cluster
        self._watched = False
        self._ends_at_seconds = 0.0
        self._workers_until_seconds: float | None = None
        self._store_lost: _LostStore | None = None

    def begin(self) -> None:
        """An earlier attempt may have joined."""
        if self._cluster.part is not None and not self._watched:
            self._watched = True
            self._resources.event_loop.watch(self._cluster.part, self._hear)

    def role_asked(self, asked: RoleAsked) -> Iterator[Occurrence]:
        """A process of the command has a part in a cluster, and so has this run."""
        try:
            spec, task = ClusterSpec.from_json(asked.cluster), Task.parse(asked.event.task)
        except ValueError:
            # Of a server that says nothing of its cluster, or a coordinator outside of it.
            return
        if spec.has(task):
            yield from self._cluster.join(spec, task)
            self.begin()

    def tick(self) -> Iterator[Occurrence]:
        awaited = self._desk.has_waiting and self._workers_until_seconds is None
        if awaited and self._resources.attempt_state.saves_itself:
            # It has seen a stop that nobody was asked for here, as one of the script's own.
            self._end_session()
        if self._cluster.part is None:
            return
        yield from self._tell(self._cluster.tick(self._beat(self._resources.lifecycle.state.value)))
        until_seconds = self._workers_until_seconds
        if until_seconds is not None and (
            not self._cluster.has_workers or time.monotonic() >= until_seconds
        ):
            self._workers_until_seconds = None
            self._desk.release(EXIT_STOPPED)
        yield from self._end_without_store()

    def _end_without_store(self) -> Iterator[Occurrence]:
        """Ends a training whose variables are gone, where it waits for them."""
        lost, step = self._store_lost, self._resources.beacon.progress().step
        if lost is None or not self._resources.lifecycle.is_calm:
            return
        if step != lost.step:
            self._store_lost = None  # What was lost is only the word of it.
        elif time.monotonic() - lost.at_seconds >= _WITHOUT_STORE_SECONDS:
            self._store_lost = None
            message = f"{lost.task} is gone and the training cannot continue: ending it."
            yield Notice(_STORE_LOST, message)
            yield Trigger.HUNG

    def suspend(self) -> None:
        """Tells the others that nothing will be heard for a while, which is no reason to end."""
        self._cluster.beat_now(self._beat(SUSPENDED))

    def hands_on(self, event: StopRequested) -> bool:
        """Whether somebody was asked to end in order, so that no signal is needed.

        A member asks its leader.
        """
        follows, attempt_state = self._cluster.follows, self._resources.attempt_state
        if attempt_state.saves_itself:
            self._end_session()
        if follows is not None and attempt_state.role and event.source != "cluster":
            follows.propose_stop(event.reason or event.signal or event.source)
            return True
        return self._desk.has_released

    def _end_session(self) -> None:
        """Lets a training that saves itself do so, when the others that train have ended.

        What they did after its last save would be lost.
        """
        if self._cluster.has_workers:
            self._workers_until_seconds = time.monotonic() + _WORKERS_SECONDS
            saved = self._resources.attempt_state.checkpoint_step is not None
            code = EXIT_STOPPED if saved else _TERMINATED
            self._cluster.end(Release("stopped", code, "the training was stopped"))
        elif self._cluster.follows is None or not self._resources.attempt_state.stop_requested:
            self._desk.release(EXIT_STOPPED)
        # Else the leader, which has been asked, says whether it goes on.

    def finish(self, state: State, exit_code: int) -> Iterator[Occurrence]:
        """Tells the other members how this run ended; who leads waits until they have as well.

        Who still trains when all is well is waited for as long as it takes; a second request to
        stop ends the wait.
        """
        patience_seconds = math.inf if state is State.COMPLETED else MEMBERS_SECONDS
        self._ends_at_seconds = time.monotonic() + patience_seconds
        end = Release(state.value, exit_code, notices.outcome_of(state, exit_code))
        self._cluster.end(end)
        while self._cluster.is_awaited and time.monotonic() < self._ends_at_seconds:
            yield from self._resources.event_loop.turn(_TURN_SECONDS)
            yield from self.tick()
            self._cluster.end(end)

    def give_up(self) -> None:
        """The user does not want to wait any longer."""
        self._ends_at_seconds = 0.0

    def close(self) -> None:
        """The next attempt hears them."""
        if self._watched and self._cluster.part is not None:
            self._resources.event_loop.forget(self._cluster.part)

    def _hear(self) -> Iterator[Occurrence]:
        return self._tell(self._cluster.heard())

    def _tell(self, events: Iterable[Event]) -> Iterator[Occurrence]:
        for event in events:
            if isinstance(event, StopRequested):
                yield StopAsked(event)
            else:
                yield event
            if task := self._lost_store(event):
                step = self._resources.beacon.progress().step
                self._store_lost = _LostStore(task, time.monotonic(), step)
            if isinstance(event, MemberReleased) and self._resources.lifecycle.is_live:
                yield from self._end(event)

    def _lost_store(self, event: Event) -> str:
        """The parameter server with which variables of this training have gone; or empty.

        A session of TensorFlow's goes on by itself, from its checkpoint, with one that has been
        started again.
        """
        attempt_state = self._resources.attempt_state
        coordinates = attempt_state.role is not None and attempt_state.role.role == "coordinator"
        match event:
            case MemberRestarted() if not coordinates:
                return ""
            case MemberRestarted() | MemberEnded() if coordinates or attempt_state.saves_itself:
                return event.task if Task.parse(event.task).kind == STORES else ""
        return ""

    def _end(self, event: MemberReleased) -> Iterator[Occurrence]:
        if self._resources.attempt_state.serves:
            # The server was answered when the event was recorded; from now on it has its time.
            yield Trigger.STOP_GRACEFUL
            yield Instruction.ARM_DEADLINE
        elif event.outcome != "completed" and not self._resources.attempt_state.raised:
            reason = f"{event.leader}: {event.reason}"
            yield StopAsked(StopRequested("cluster", "graceful", reason=reason))

    def _beat(self, state: str) -> Beat:
        progress, attempt_state = self._resources.beacon.progress(), self._resources.attempt_state
        role = attempt_state.role
        phase = role.role if role else progress.phase.name.lower()
        if (pid := self._trainers.watched_pid) and is_suspended(pid):
            phase = SUSPENDED
        return Beat(state, phase, progress.step, attempt_state.serves)
