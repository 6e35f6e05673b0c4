"""What of a training is saved, and when: at the boundaries of steps, at ends, at a stop."""

import math
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from pitstop import events
from pitstop.engine.connection.supervisor_connection import SupervisorConnection
from pitstop.engine.leaving import TrainingStopped
from pitstop.engine.lockstep import Lockstep
from pitstop.engine.snapshots import copier
from pitstop.engine.snapshots.cadence import Allowance, BestWatch, Cadence, Milestones
from pitstop.engine.snapshots.copier import Copier, Durability, is_copied_before
from pitstop.engine.snapshots.state_capture import Position, StateCapture
from pitstop.engine.trainings.trainings import Trainings
from pitstop.link.beacon import Phase, Stop
from pitstop.link.messages import ArenaOffer, Welcome
from pitstop.machine.memory import available_bytes
from pitstop.machine.own_process import age_ns
from pitstop.snapshot.arena import Arena, plan_arena

_STOP_WAIT_SECONDS = 3.0
_GIVEN_UP_NS = 60_000_000_000
# Of the budget; snapshots by cadence have a half.
_HOLDS_SHARE = 0.5

Take = Callable[[], StateCapture | None]  # takes a cut here and now; None where there is none


class Snapshots:
    """Those of one attempt: decides what is due, and hands cuts to the copier.

    The copier's thread calls `_offer_arena` and `_copy_failed` beside the steps: they send, which
    the connection's lock allows, and set single attributes that the boundary reads.

    Attributes:
        holds: the time for cuts that are held while an epoch ends.
        lockstep: with those that it trains together with, if there are any.
        stopped: a stop was obeyed: from then on, nothing of this process is saved.
        alone: the script is its own launcher: it waits itself for what it
            saves last, since nobody holds its terminal for it.
    """

    def __init__(
        self, supervisor: SupervisorConnection, trainings: Trainings, welcome: Welcome
    ) -> None:
        self._supervisor = supervisor
        self._beacon = beacon = supervisor.beacon
        self._settings = settings = welcome.settings
        self._trainings = trainings
        self.bests = BestWatch(settings.keep_best, settings.saved_metrics)
        share = settings.overhead * _HOLDS_SHARE
        self.holds = Allowance(share, time.monotonic_ns(), age_ns())
        self.milestones = Milestones(settings.overhead)
        self.lockstep = Lockstep(beacon, agreed=bool(welcome.gang), doubt=welcome.doubt)
        self.stopped = self.alone = False
        self._checkpoints_seen = beacon.checkpoint_requests()
        self._blocked_seconds = 0.0  # of the last snapshot, until its cost is known
        self._beside_bytes = 0  # of it, copied beside the steps
        self._given_up = settings.looks_only
        self._durability = Durability(beacon, lambda: supervisor.is_there)
        self._cadence = Cadence(
            settings.overhead,
            settings.every_steps,
            int(settings.every_seconds * 1e9),
            settings.last_step,
            by_budget=not self.lockstep.agreed,
        )
        self._run_dir = Path(welcome.run_dir)
        self._copier = Copier(
            beacon, self._make_arena, self._offer_arena, supervisor.send, self._copy_failed
        )

    def close(self) -> None:
        self._copier.close()

    def not_finite(self, event: events.Event) -> None:
        self._given_up |= self._settings.rolls_back
        self._supervisor.report(event)

    def start_steps(self, step: int, *, repeats: bool = False) -> None:
        """The first step of a fit is about to run.

        One that `repeats` was too short to be saved. After one that was saved in this process, the
        begin is saved at once: a script that leaves out finished fits may be killed while this one
        is traced.
        """
        now_ns = time.monotonic_ns()
        self._cadence.start(step, now_ns, age_ns(), marks=self.milestones.last_saved)
        self.milestones.begin(now_ns, repeats=repeats)
        if repeats:
            self._cadence.postponed(now_ns, self.milestones.short_ns)

    def due(self, step: int, now_ns: int, *, waits: bool = False) -> bool:
        """The hot path; `waits`: a cut that is not asked for is left to a better moment."""
        planned = self._cadence.asked if waits else self._cadence.due
        return (
            self._beacon.stop() != 0
            or planned(step, now_ns)
            or self._beacon.checkpoint_requests() != self._checkpoints_seen
            or self.lockstep.saves_at(step)
        )

    def give_up(self, error: Exception) -> None:
        if not self._given_up:
            self._given_up = True
            self._supervisor.report(copier.pitstop_failed(error))

    def act(self, step: int, take: Take) -> bool:
        """Does what is due, and whether a snapshot was begun; raises `TrainingStopped`, saved."""
        self._end_where_set(step, take)
        if self._supervisor.stop_requested():
            self.stop_with(take(), "train")
        now_ns = time.monotonic_ns()
        requested = self._beacon.checkpoint_requests() != self._checkpoints_seen
        if requested or self.lockstep.saves_at(step) or self._cadence.fixed_due(step, now_ns):
            self._durability.wait(self._nobody_stops)
            return self._snapshot(take, "requested", durable=True)
        if not self._copier.ready or self._durability.pending:
            self._cadence.postponed(now_ns)
            return False
        return self._snapshot(take, "cadence", durable=False)

    def cost_measured(self, seconds: float) -> None:
        """The steps behind the last snapshot have lost so much, by it or by other causes."""
        if self._copier.is_idle:
            step_seconds = self._beacon.progress().step_seconds
            copy_seconds = self._copier.copy_seconds if self._beside_bytes else 0.0
            beside = copier.most_lost_beside(self._beside_bytes, copy_seconds, step_seconds)
            seconds = min(seconds, self._blocked_seconds + beside)
        self._cadence.cost_measured(max(seconds, self._blocked_seconds))
        self._blocked_seconds = 0.0

    @property
    def keeps_end(self) -> bool:
        """Whether the end of the training that runs is worth to be saved."""
        return self.milestones.is_worth_it(self._trainings.begun, time.monotonic_ns())

    def milestone(self, take: Take) -> None:
        """Saves the outcome of a fit, if it is worth it, and waits until it is durable."""
        if self.stopped or self._given_up or self._settings.export_to:
            return
        started_ns = time.monotonic_ns()
        if not self.milestones.wanted(self._trainings.begun, started_ns):
            if self.milestones.left_out == 1:
                self._supervisor.report(copier.short_trainings(self._trainings.begun))
            return
        cut = take()
        if cut is not None:
            self._durability.wait(self._nobody_stops)
            self._durability.expect(self._copier.copy_now(cut, "fit_end", durable=True))
            self._durability.wait(self._nobody_stops)
            self.milestones.saved((time.monotonic_ns() - started_ns) / 1e9)
            self._cadence.taken(cut.position.step, time.monotonic_ns())

    def keep_behind_error(self, cut: StateCapture | None) -> None:
        if cut is not None and not self._given_up and not self._durability.pending:
            self._copier.copy_now(cut, "exception", durable=False)

    def epoch_ended(self, cut: StateCapture | None, metrics: dict[str, float]) -> None:
        if cut is None or self._given_up or not self.bests.accepts(cut.position.step, metrics):
            return
        self._durability.wait(self._nobody_stops)
        finite = {name: value for name, value in metrics.items() if math.isfinite(value)}
        best = cut.told(metrics=finite)
        self._durability.expect(self._copier.copy_now(best, "best", durable=True))

    def stop_with(self, cut: StateCapture | None, phase: str, at: Position | None = None) -> None:
        """Saves a cut (None: the newest checkpoint says it all), and raises `TrainingStopped`."""
        if self.stopped:
            raise TrainingStopped
        self._beacon.write_phase(Phase.SAVING)
        self._durability.wait(lambda: self._beacon.stop() < Stop.NOW, _STOP_WAIT_SECONDS)
        if cut is not None and not self._given_up:
            name = self._take_request()
            named = cut.told(name=name) if name else cut
            self._durability.expect(self._copier.copy_now(named, "stop", durable=True))
        where = cut.position if cut is not None else at or self._beacon.progress()
        self._supervisor.report(
            events.TrainerStopped(where.step, where.epoch, where.step_in_epoch, phase)
        )
        if self.alone:
            self._durability.wait(lambda: True)
        self.stopped = True
        # A script that goes on may train again: the next training has to see the stop, too.
        self._beacon.request_stop(Stop.GRACEFUL)
        raise TrainingStopped

    def _nobody_stops(self) -> bool:
        return not self._supervisor.stop_requested()

    def _take_request(self) -> str | None:
        before, self._checkpoints_seen = self._checkpoints_seen, self._beacon.checkpoint_requests()
        return None if self._checkpoints_seen == before else self._beacon.take_checkpoint_name()

    def _end_where_set(self, step: int, take: Take) -> None:
        if 0 < self._settings.die_at_step <= step:
            self._supervisor.report(events.ExitCalled(events.DRILLED, "SIGKILL", "", 0, ""))
            os.kill(os.getpid(), signal.SIGKILL)
        if 0 < self._settings.halt_at_step <= step:
            self._supervisor.report(events.StopRequested(source="setting", urgency="graceful"))
            self.stop_with(take(), "train")

    def _snapshot(self, take: Take, reason: str, *, durable: bool) -> bool:
        self._copier.wait()
        if self._blocked_seconds:
            # The training was over before a step could tell what the last one cost.
            self.cost_measured(0.0)
        started_ns = time.monotonic_ns()
        cut = None if self._given_up else take()
        # A request may have come while the cut was taken.
        name = self._take_request()
        if name is not None:
            reason, durable = "requested", True
        if cut is None:
            if name is not None:
                self._report_unsaved()
            self._cadence.postponed(started_ns, _GIVEN_UP_NS)
            return False
        step_seconds = self._beacon.progress().step_seconds
        copy_seconds = self._copier.copy_seconds
        waits = is_copied_before(cut.size_bytes, copy_seconds, step_seconds, cut.room_bytes)
        is_large = cut.size_bytes >= copier.LARGE_BYTES
        if is_large and not durable and self._copier.makes_room(cut.size_bytes):
            self._cadence.postponed(started_ns)
            return False
        cut = cut.told(name=name) if name else cut
        self._cadence.taken(cut.position.step, started_ns)
        self._beside_bytes = 0 if waits else cut.size_bytes
        copy = self._copier.copy_now if waits else self._copier.submit
        copy(cut, reason, durable=durable)
        self._blocked_seconds = (time.monotonic_ns() - started_ns) / 1e9
        return True

    def _report_unsaved(self) -> None:
        step, words = self._beacon.progress().step, "This training cannot be saved."
        self._supervisor.report(events.CheckpointFailed(step, words, "`pitstop status` shows why."))

    def _make_arena(self, snapshot_bytes: int) -> Arena:
        limit_bytes = self._settings.snapshot_memory_bytes
        return Arena(plan_arena(snapshot_bytes, available_bytes(), limit_bytes), self._run_dir)

    def _offer_arena(self, arena: Arena) -> None:
        plan = arena.plan
        self._supervisor.send(ArenaOffer(plan.size_bytes, plan.backing), arena.fd)
        if plan.backing == "file":
            self._supervisor.report(copier.memory_short(plan))

    def _copy_failed(self, error: Exception) -> None:
        self._supervisor.report(copier.snapshot_failed(self._beacon.progress().step, error))
        if not isinstance(error, (OSError, MemoryError)):
            self.give_up(error)
