"""All conversations of an attempt: with the trainer, the persister, the command line."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from pitstop.events import (
    CheckpointCommitted,
    CheckpointFailed,
    Event,
    RoleTaken,
    StopRequested,
    TrainerConnected,
)
from pitstop.link.beacon import Phase
from pitstop.link.messages import Hello
from pitstop.link.wire import Connection
from pitstop.supervisor.attempt.flight import Flight
from pitstop.supervisor.attempt.plan import AttemptPlan, AttemptResources
from pitstop.supervisor.control.clients import ClientReception
from pitstop.supervisor.control.requests import RequestDesk, RequestHandlers
from pitstop.supervisor.hangs.hang_monitor import HangHandlers, HangMonitor
from pitstop.supervisor.helpers.mirroring import Mirroring
from pitstop.supervisor.helpers.restoring import Restoring
from pitstop.supervisor.helpers.saving import Saving
from pitstop.supervisor.lifecycle.event_loop import EventLoop
from pitstop.supervisor.lifecycle.table import Trigger
from pitstop.supervisor.processes import family
from pitstop.supervisor.processes.job_watch import JobWatch
from pitstop.supervisor.records.notices import TRAINS_BESIDE
from pitstop.supervisor.status.status import Status
from pitstop.supervisor.stops.condition_watch import ConditionWatch
from pitstop.supervisor.trainer.trainer_link import TrainerHandlers
from pitstop.supervisor.trainer.trainer_slot import TrainerSlot, refuse

_SAVE_PATIENCE_SECONDS = 10.0
"""What the last save may take, if the grace time is not shorter, until nobody need wait for it."""


_HANDOVER_SECONDS = 3.0
"""How long a process that wants to train waits for the end of the one before it."""


@dataclass(frozen=True)
class _PendingTrainer:
    """A process that wants to train while another one is still there."""

    connection: Connection
    hello: Hello
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

    feed: Callable[[Trigger], None]
    on_stop: Callable[[StopRequested], None]
    on_trainer: Callable[[int], None]
    status: Callable[[], Status]
    is_live: Callable[[], bool]


class Exchange:
    """Who talks to whom; every event of an attempt passes through `record`.

    Attributes:
        saving: the persister, and when it is asked for what.
        mirroring: the uploader, if the run has a mirror.
        trainer_slot: the process that trains.
        hang_monitor: looks whether it makes progress.
        flight: records what it uses of the machine.
    """

    def __init__(
        self, event_loop: EventLoop, plan: AttemptPlan, resources: AttemptResources, ears: Ears
    ) -> None:
        """Connects the parts; nothing is started yet."""
        self._plan = plan
        self._resources = resources
        self._ears = ears
        self._resumes = bool(resources.catalog.entries())
        self._job = JobWatch(plan.environment)
        self._condition = ConditionWatch(plan.request.stop_when, plan.history.epochs)
        self._restoring = Restoring(resources.catalog, resources.persister, self._on_restore_ready)
        self.saving = Saving(
            event_loop,
            resources.persister,
            self._restoring,
            self.record,
            ears.feed,
            plan.history.losses,
            min(_SAVE_PATIENCE_SECONDS, plan.request.grace_seconds),
        )
        self.mirroring = Mirroring(event_loop, resources.mirror, self.record)
        self._desk = RequestDesk(self._request_handlers())
        self.flight = Flight(plan, resources, lambda: self.trainer_slot.pid, self.record)
        handlers = TrainerHandlers(
            self._on_trainer_event,
            resources.persister.set_arena,
            self.saving.taken,
            self._on_restore,
            self.flight.on_vitals,
        )
        self._pending: list[_PendingTrainer] = []
        self._closed_to_others = False
        self.trainer_slot = TrainerSlot(
            event_loop, plan.invitation(resources.beacon.fd), handlers, self._on_left
        )
        self.hang_monitor = HangMonitor(
            plan.request.hang, resources.beacon, plan.stacks_file, self._hang_handlers()
        )
        self._clients = ClientReception(event_loop, resources.control, self._desk, self._on_hello)

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
        for pending in [each for each in self._pending if time.monotonic() >= each.until_seconds]:
            self._pending.remove(pending)
            self._turn_away(pending)

    def record(self, event: Event) -> None:
        """Journals an event and tells those who wait for it."""
        if (told := self._job.heard(event)) is not None:
            self._resources.event_log.record(told)
        self._resources.event_log.record(event)
        self.mirroring.recorded(event)
        self.hang_monitor.heard(event)
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
        self._clients.close()
        for pending in self._pending:
            pending.connection.close()
        self._restoring.close()
        self.hang_monitor.close()
        self.flight.close()
        self.mirroring.close()

    @property
    def watches(self) -> bool:
        """Whether a process is there that tells of its steps, and obeys the stop word."""
        if not self.trainer_slot.connected:
            return False
        attempt_state = self._resources.event_log.attempt_state
        starting = self._resources.beacon.phase() is Phase.STARTING
        return not (starting and (attempt_state.role or attempt_state.uninstrumented))

    def _request_handlers(self) -> RequestHandlers:
        return RequestHandlers(
            self._ears.status, self._ears.on_stop, self.ask_checkpoint, self._on_role
        )

    def _hang_handlers(self) -> HangHandlers:
        return HangHandlers(
            record=self.record,
            end=lambda: self._ears.feed(Trigger.HUNG),
            trainer_pid=lambda: self.trainer_slot.present_pid if self.watches else 0,
        )

    def _on_hello(self, connection: Connection, hello: Hello) -> None:
        if not self._ears.is_live():
            # Also the one that trained: it may have said so again just before its end.
            refuse(connection, "the run is ending")
            return
        if self.trainer_slot.connected and not self._makes_way(hello.pid):
            refuse(connection, f"process {self.trainer_slot.pid} trains in this run")
            return
        if (
            self.trainer_slot.connected
            and hello.pid != self.trainer_slot.pid
            and not self._closed_to_others
        ):
            until_seconds = time.monotonic() + _HANDOVER_SECONDS
            self._pending.append(_PendingTrainer(connection, hello, until_seconds))
        elif self.trainer_slot.offer(connection, hello, closed=self._closed_to_others):
            self._ears.on_trainer(self.trainer_slot.pid)
            self._ears.feed(Trigger.TRAINER_CONNECTED)
            if self._restoring.ready:
                self.trainer_slot.welcome(self._restoring.points)

    def _makes_way(self, pid: int) -> bool:
        """Whether a process is asked to wait for the present one; a stranger goes before it."""
        ours = (os.getpid(), self._plan.request.trainer_pid or os.getpid())
        if not family.belongs_to(pid, ours):
            return False
        if not family.belongs_to(self.trainer_slot.pid, ours):
            self.trainer_slot.clear()
        return True

    def _on_role(self, event: RoleTaken) -> None:
        if self._ears.is_live():
            self.record(event)
            self._ears.feed(Trigger.TRAINER_CONNECTED)

    def _on_left(self) -> None:
        if self._pending:
            pending = self._pending.pop(0)
            self._on_hello(pending.connection, pending.hello)

    def _turn_away(self, pending: _PendingTrainer) -> None:
        # Which of them would be the first to say so the next time is anybody's guess: from
        # now on nobody but the one that is there is saved.
        if not self._closed_to_others:
            self._closed_to_others = True
            self.record(TRAINS_BESIDE)
        refuse(pending.connection, f"process {self.trainer_slot.pid} trains in this run")

    def ask_checkpoint(self, name: str = "") -> int | None:
        """Asks the trainer for a durable checkpoint, with a name if one is given.

        Returns:
            The step it had completed by then, None when nobody trains.
        """
        progress = self._resources.beacon.progress()
        if not self.trainer_slot.connected or progress.phase is Phase.STARTING:
            return None
        self._resources.beacon.request_checkpoint(name)
        return progress.step

    def _on_trainer_event(self, event: Event) -> None:
        if isinstance(event, StopRequested) and event.source in ("script", "signal"):
            self._ears.on_stop(event)
            return
        self.record(event)
        asked = self._condition.on_event(event)
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
        self.trainer_slot.welcome(self._restoring.points)

    def _on_restore(self, checkpoint: str) -> None:
        if self.trainer_slot.link is not None:
            self._restoring.requested(self.trainer_slot.link, checkpoint)
