"""All conversations of an attempt: with the trainer, the persister, the command line."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pitstop.events import (
    CheckpointCommitted,
    CheckpointFailed,
    Event,
    StopRequested,
    TrainerConnected,
)
from pitstop.link.beacon import Phase
from pitstop.link.wire import Connection
from pitstop.supervisor import family
from pitstop.supervisor.attempt import AttemptPlan, Tools
from pitstop.supervisor.condition_watch import ConditionWatch
from pitstop.supervisor.flight import Flight
from pitstop.supervisor.lifecycle import Signal
from pitstop.supervisor.mirroring import Mirroring
from pitstop.supervisor.notices import TRAINS_BESIDE
from pitstop.supervisor.observation.job_watch import JobWatch
from pitstop.supervisor.patrol import Patrol, PatrolHandlers
from pitstop.supervisor.reactor import Reactor
from pitstop.supervisor.reception import Reception
from pitstop.supervisor.requests import RequestDesk, RequestHandlers
from pitstop.supervisor.restoring import Restoring
from pitstop.supervisor.saving import Saving
from pitstop.supervisor.seat import Seat, refuse
from pitstop.supervisor.status import Status
from pitstop.supervisor.trainer_link import TrainerHandlers

_SAVE_PATIENCE_SECONDS = 10.0
"""What the last save may take, if the grace time is not shorter, until nobody need wait for it."""


_HANDOVER_SECONDS = 3.0
"""So long a process that wants to train waits for the one before it to be gone."""


@dataclass(frozen=True)
class _Guest:
    """A process that wants to train while another one is still there."""

    connection: Connection
    hello: dict[str, Any]
    until_seconds: float


@dataclass(frozen=True)
class Ears:
    """What the supervision wants to hear of.

    Attributes:
        feed: an event of the lifecycle.
        on_stop: somebody asks for a stop.
        on_trainer: a process with this pid trains from now on.
        status: asked when somebody wants to know.
        is_live: asked whether a process may still begin to train.
    """

    feed: Callable[[Signal], None]
    on_stop: Callable[[StopRequested], None]
    on_trainer: Callable[[int], None]
    status: Callable[[], Status]
    is_live: Callable[[], bool]


class Exchange:
    """Who talks to whom; every event of an attempt passes through `record`.

    Attributes:
        saving: the persister, and when it is asked for what.
        mirroring: the uploader, if the run has a mirror.
        seat: the place of the process that trains.
        patrol: looks whether it makes progress.
        flight: records what it uses of the machine.
    """

    def __init__(self, reactor: Reactor, plan: AttemptPlan, tools: Tools, ears: Ears) -> None:
        """Connects the parts; nothing is started yet."""
        self._plan = plan
        self._tools = tools
        self._ears = ears
        self._resumes = bool(tools.catalog.entries())
        self._job = JobWatch(plan.environment)
        self._condition = ConditionWatch(plan.request.stop_when, plan.history.epochs)
        self._restoring = Restoring(tools.catalog, tools.persister, self._on_restore_ready)
        self.saving = Saving(
            reactor,
            tools.persister,
            self._restoring,
            self.record,
            ears.feed,
            plan.history.losses,
            min(_SAVE_PATIENCE_SECONDS, plan.request.grace_seconds),
        )
        self.mirroring = Mirroring(reactor, tools.mirror, self.record)
        self._desk = RequestDesk(RequestHandlers(ears.status, ears.on_stop, self.ask_checkpoint))
        self.flight = Flight(plan, tools, lambda: self.seat.pid, self.record)
        handlers = TrainerHandlers(
            self._on_trainer_event,
            tools.persister.set_arena,
            self.saving.taken,
            self._on_restore,
            self.flight.told,
        )
        self._guests: list[_Guest] = []
        self._crowded = False
        self.seat = Seat(reactor, plan.invitation(tools.beacon.fd), handlers, self._on_left)
        self.patrol = Patrol(plan.request.hang, tools.beacon, plan.stacks_file, self._patrolled())
        self._reception = Reception(reactor, tools.control, self._desk, self._on_hello)

    def begin(self) -> None:
        """Starts the persister, which loads the newest checkpoint right away.

        Raises:
            OSError: the kernel refuses another process.
        """
        self.saving.start()
        self._restoring.begin()
        self.mirroring.begin()

    def tick(self) -> None:
        """Does what is due by the clock."""
        self.saving.tick()
        self.flight.look()
        for guest in [each for each in self._guests if time.monotonic() >= each.until_seconds]:
            self._guests.remove(guest)
            self._turn_away(guest)

    def record(self, event: Event) -> None:
        """Journals an event and tells those who wait for it."""
        if (told := self._job.heard(event)) is not None:
            self._tools.chronicle.record(told)
        self._tools.chronicle.record(event)
        self.mirroring.recorded(event)
        self.patrol.heard(event)
        if isinstance(event, CheckpointCommitted):
            self._desk.saved(event)
        elif isinstance(event, CheckpointFailed):
            self._desk.not_saved(event)

    def record_started(self, trainer_pid: int, cgroup: str) -> None:
        """Journals the start of the command, and what changed since the last one."""
        self.flight.begin(trainer_pid)
        self.record(self._plan.started(trainer_pid, cgroup))
        if self._job.seen is not None:
            self.record(self._job.seen)
        if self._resumes:
            for change in self._plan.environment_changes():
                self.record(change)
            if self._plan.threads.kept:
                self.record(self._plan.threads.notice)

    def close(self) -> None:
        """Says good-bye to waiting clients and gives the memory back."""
        self._reception.close()
        for guest in self._guests:
            guest.connection.close()
        self._restoring.close()
        self.patrol.close()
        self.flight.close()
        self.mirroring.close()

    def _patrolled(self) -> PatrolHandlers:
        return PatrolHandlers(
            record=self.record,
            end=lambda: self._ears.feed(Signal.HUNG),
            trainer_pid=lambda: self.seat.present_pid,
        )

    def _on_hello(self, connection: Connection, body: dict[str, Any]) -> None:
        if not self._ears.is_live():
            # Also the one that trained: it may have said so again just before its end.
            refuse(connection, "the run is ending")
            return
        if self.seat.connected and not self._makes_way(body["pid"]):
            refuse(connection, f"process {self.seat.pid} trains in this run")
            return
        if self.seat.connected and body.get("pid") != self.seat.pid and not self._crowded:
            until_seconds = time.monotonic() + _HANDOVER_SECONDS
            self._guests.append(_Guest(connection, body, until_seconds))
        elif self.seat.offer(connection, body, closed=self._crowded):
            self._ears.on_trainer(self.seat.pid)
            self._ears.feed(Signal.TRAINER_CONNECTED)
            if self._restoring.ready:
                self.seat.welcome(self._restoring.points)

    def _makes_way(self, pid: int) -> bool:
        """Whether a process is asked to wait for the present one; a stranger goes before it."""
        ours = (os.getpid(), self._plan.request.trainer_pid or os.getpid())
        if not family.belongs_to(pid, ours):
            return False
        if not family.belongs_to(self.seat.pid, ours):
            self.seat.clear()
        return True

    def _on_left(self) -> None:
        if self._guests:
            guest = self._guests.pop(0)
            self._on_hello(guest.connection, guest.hello)

    def _turn_away(self, guest: _Guest) -> None:
        # Which of them would be the first to say so the next time is anybody's guess: from
        # now on nobody but the one that is there is saved.
        if not self._crowded:
            self._crowded = True
            self.record(TRAINS_BESIDE)
        refuse(guest.connection, f"process {self.seat.pid} trains in this run")

    def ask_checkpoint(self, name: str = "") -> int | None:
        """Asks the trainer for a durable checkpoint, with a name if one is given.

        Returns:
            The step it had completed by then, None when nobody trains.
        """
        progress = self._tools.beacon.progress()
        if not self.seat.connected or progress.phase is Phase.STARTING:
            return None
        self._tools.beacon.request_checkpoint(name)
        return progress.step

    def _on_trainer_event(self, event: Event) -> None:
        if isinstance(event, StopRequested) and event.source in ("script", "signal"):
            self._ears.on_stop(event)
            return
        self.record(event)
        asked = self._condition.told(event)
        if asked is not None:
            self._ears.on_stop(asked)
        if isinstance(event, TrainerConnected) and self._resumes:
            for change in self._plan.history.version_changes(event):
                self.record(change)
            if self._plan.threads.kept:
                self.record(self._plan.threads.notice)

    def _on_restore_ready(self) -> None:
        if self._restoring.points:
            self.record(self._restoring.points[-1].chosen())
        self.seat.welcome(self._restoring.points)

    def _on_restore(self, checkpoint: str) -> None:
        if self.seat.link is not None:
            self._restoring.requested(self.seat.link, checkpoint)
