"""The run's part in a cluster, while an attempt is under way."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator

from pitstop.cluster.messages import Beat, Release
from pitstop.cluster.spec import ClusterSpec, Task
from pitstop.events import Event, MemberReleased, StopRequested
from pitstop.supervisor.attempt.plan import AttemptResources
from pitstop.supervisor.lifecycle.occurrences import Occurrence, RoleAsked, StopAsked
from pitstop.supervisor.lifecycle.table import Instruction, State, Trigger
from pitstop.supervisor.records import notices

MEMBERS_SECONDS = 20.0
"""For the other members, when the run that leads them was stopped or has failed."""
_TURN_SECONDS = 0.1


class Membership:
    """Hears the other members, and tells them what this run does."""

    def __init__(self, resources: AttemptResources) -> None:
        self._resources = resources
        self._cluster = resources.cluster
        self._watched = False
        self._ends_at_seconds = 0.0

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
        if task in spec.addresses:
            yield from self._cluster.join(spec, task)
            self.begin()

    def tick(self) -> Iterator[Occurrence]:
        """Sends a beat, and looks who is silent."""
        return self._tell(self._cluster.tick(self._beat(self._resources.lifecycle.state.value)))

    def suspend(self) -> None:
        """Tells the others that nothing will be heard for a while, which is no reason to end."""
        self._cluster.beat_now(self._beat("suspended"))

    def asked_leader(self, event: StopRequested) -> bool:
        """Whether the leader was asked for the stop that this member was asked for."""
        follows = self._cluster.follows
        if follows is None or not self._resources.attempt_state.serves or event.source == "cluster":
            return False
        follows.propose_stop(event.reason or event.signal or event.source, now=False)
        return True

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
            if isinstance(event, MemberReleased) and self._resources.lifecycle.is_live:
                yield from self._end(event)

    def _end(self, event: MemberReleased) -> Iterator[Occurrence]:
        if self._resources.attempt_state.serves:
            # The server was answered when the event was recorded; from now on it has its time.
            yield Trigger.STOP_GRACEFUL
            yield Instruction.ARM_DEADLINE
        elif event.outcome != "completed":
            reason = f"{event.leader}: {event.reason}"
            yield StopAsked(StopRequested("cluster", "graceful", reason=reason))

    def _beat(self, state: str) -> Beat:
        progress, attempt_state = self._resources.beacon.progress(), self._resources.attempt_state
        role = attempt_state.role
        phase = role.role if role else progress.phase.name.lower()
        return Beat(state, phase, progress.step, attempt_state.serves)
