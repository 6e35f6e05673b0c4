"""The parts of an attempt, connected; none of them knows what handles its occurrences."""

import os
import time
from collections.abc import Iterator
from dataclasses import replace

from pitstop.cluster.spec import ASSEMBLING
from pitstop.supervisor.attempt.command import Command
from pitstop.supervisor.attempt.flight import Flight
from pitstop.supervisor.attempt.gang import GangPart
from pitstop.supervisor.attempt.membership import Membership
from pitstop.supervisor.attempt.plan import AttemptPlan, AttemptResources, RunningCommand
from pitstop.supervisor.attempt.stopping import Stopping
from pitstop.supervisor.attempt.trainer_reception import TrainerReception
from pitstop.supervisor.control.requests import ClientReception, RequestDesk
from pitstop.supervisor.hangs.hang_monitor import HangMonitor
from pitstop.supervisor.helpers.mirroring import Mirroring
from pitstop.supervisor.helpers.restoring import Restoring
from pitstop.supervisor.helpers.saving import Saving
from pitstop.supervisor.lifecycle.occurrences import ArenaReceived, Occurrence
from pitstop.supervisor.processes import family
from pitstop.supervisor.processes.job_watch import JobWatch
from pitstop.supervisor.status import Status, live_status
from pitstop.supervisor.stops.stop_condition import ConditionWatch

_VERDICT_SECONDS = 3.0  # A supervisor that is out of reach is given up before that
_TURN_SECONDS = 0.05
_SAVE_PATIENCE_SECONDS = 10.0
"""The longest wait for the last save; the grace time, if that is shorter."""


class AttemptParts:
    """All parts that report occurrences or act on them."""

    def __init__(
        self,
        plan: AttemptPlan,
        resources: AttemptResources,
        running: RunningCommand,
    ) -> None:
        loop, persister = resources.event_loop, resources.persister
        patience = min(_SAVE_PATIENCE_SECONDS, plan.request.grace_seconds)
        self.plan = plan
        self.resources = resources
        self.trainers = TrainerReception(plan, resources)
        self.restoring = Restoring(resources.catalog, persister, self.trainers.slot)
        self.saving = Saving(loop, persister, self.restoring, plan.history.losses, patience)
        self.mirroring = Mirroring(loop, resources.run.mirror)
        self.desk = RequestDesk()
        self.clients = ClientReception(loop, resources.run.control, self.desk)
        self.flight = Flight(plan, resources, self.trainers.slot)
        self.hang_monitor = HangMonitor(plan.request.hang, resources.beacon, plan.stacks_file)
        self.job = JobWatch(plan.environment)
        self.condition = ConditionWatch(
            plan.request.stop_when,
            plan.history.epochs,
            rolls_back=plan.request.settings.rolls_back,
        )
        self.command = Command(plan, resources, self.trainers, running)
        launched = bool(plan.request.launcher_pid)
        self.membership = Membership(resources, self.desk, self.trainers, launched=launched)
        self.gang = GangPart(plan, resources, self.restoring)
        self.stopping = Stopping(
            plan, resources, self.command, self.trainers, self.saving, self.membership, self.gang
        )

    def status(self) -> Status:
        resources, pid = self.resources, self.trainers.slot.present_pid or self.command.main.pid
        hangs = self.hang_monitor.report(time.monotonic(), self.trainers.watched_pid)
        plan, request, arena = self.plan, self.plan.request, resources.persister.arena
        identity = Status(
            state="",
            run_dir=str(request.run_dir),
            pid=pid,
            supervisor_pid=os.getpid(),
            attempt=plan.attempt,
            losses=plan.history.losses.count,
            rss_bytes=family.resident_bytes(pid),
            checkpoint_interval_seconds=self.saving.interval_seconds,
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
        now = replace(now, phase=ASSEMBLING) if self.gang.assembles else now
        return self.flight.seen(now)

    def ask_checkpoint(self, name: str = "") -> int | None:
        step = None if self.gang.is_split else self.trainers.step_to_save
        if step is not None:
            self.gang.ask_checkpoint(name)
        return step

    def take_arena(self, received: ArenaReceived) -> None:
        if self.gang.is_split:
            os.close(received.fd)
        else:
            self.resources.persister.set_arena(received.offer, received.fd)

    def conclude(self) -> Iterator[Occurrence]:
        give_up_at = time.monotonic() + _VERDICT_SECONDS
        while self.gang.awaits_verdict and time.monotonic() < give_up_at:
            yield from self.resources.event_loop.turn(_TURN_SECONDS)
            yield from self.membership.tick()
            yield from self.gang.tick()
        yield from self.command.conclude()

    def close(self) -> None:
        self.clients.close()
        self.membership.close()
        self.trainers.close()
        self.restoring.close()
        self.hang_monitor.close()
        self.flight.close()
        self.mirroring.close()
