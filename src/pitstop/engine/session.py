"""The trainer's end of a run: what to restore, what is asked, what is saved."""

from __future__ import annotations

import math
import os
import platform
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from pitstop.engine import abandonment, copier
from pitstop.engine.cadence import Allowance, BestWatch, Cadence, Milestones
from pitstop.engine.copier import Copier, Durability, is_copied_before
from pitstop.engine.fence import FENCE
from pitstop.engine.identity import RestorePoint
from pitstop.engine.leaving import Refused, TrainingStopped
from pitstop.engine.lockstep import Lockstep
from pitstop.engine.present_identity import own_sources
from pitstop.engine.request import reason_of
from pitstop.engine.saved_state import SavedState, open_saved_state
from pitstop.engine.state_capture import Position, StateCapture
from pitstop.engine.step_recorder import LossWatch, StepRecorder, Vitals
from pitstop.engine.trainings import Trainings
from pitstop.errors import PeerClosed, PeerFault, PitstopError, ProtocolMismatch
from pitstop.events import (
    CheckpointFailed,
    Event,
    Notice,
    StopRequested,
    TrainerConnected,
    TrainerStopped,
    to_record,
)
from pitstop.link.beacon import Beacon, Phase, Stop
from pitstop.link.messages import (
    ArenaOffer,
    EventReport,
    Hello,
    ImageAnswer,
    Message,
    RestoreRequest,
    Welcome,
)
from pitstop.link.settings import Settings
from pitstop.link.wire import PROTOCOL, Connection
from pitstop.machine.memory import available_bytes
from pitstop.machine.own_process import age_ns
from pitstop.snapshot.arena import Arena

_STOP_WAIT_SECONDS = 3.0
_GIVEN_UP_NS = 60_000_000_000
# Of the budget; snapshots by cadence have a half.
_HOLDS_SHARE = 0.5


class Session:
    """One trainer process of one attempt.

    The copier's thread calls `_offer_arena`, `_send` and `_copy_failed` beside the steps: they
    send, which the connection's lock allows, and set single attributes that the boundary reads.

    Attributes:
        lost_from_step: step an earlier attempt had reached, -1 when none.
        bests: which ends of epochs are kept for their metrics.
        milestones: which ends of trainings are saved.
        holds: the time for cuts that are held while an epoch ends.
        vitals: tells the flight recorder what only this process sees.
        stopped: a stop was obeyed: from then on, nothing of this process is saved.
        alone: the script is its own launcher: it waits itself for what it
            saves last, since nobody holds its terminal for it.
        trains_with_fit: fits are the training; else they are parts of the
            steps of the script's own loop.
        lockstep: with those that it trains together with, if there are any.
        refusal: why it may not go on; empty where it may.
        kernel: the process is a notebook's kernel, which no stop ends.
        stop_signal: the signal that has asked for a stop, 0 for none.
    """

    def __init__(self, connection: Connection, beacon: Beacon, welcome: Welcome) -> None:
        self.beacon = beacon
        self.settings = Settings.from_json(welcome.settings)
        points = [RestorePoint.from_json(point) for point in welcome.points]
        self.trainings = Trainings(points, beacon)
        self.lost_from_step = welcome.lost_from_step
        run_dir = Path(welcome.run_dir)
        self.attempt_dir = run_dir / "attempts" / str(welcome.attempt)
        self.steps = StepRecorder(self.attempt_dir, self.report)
        self.losses = LossWatch(self._not_finite)
        self.vitals = Vitals(self._send, self.settings.flight_seconds)
        self.bests = BestWatch(self.settings.keep_best, self.settings.saved_metrics)
        share = self.settings.overhead * _HOLDS_SHARE
        self.holds = Allowance(share, time.monotonic_ns(), age_ns())
        self.milestones = Milestones(self.settings.overhead)
        self.lockstep = Lockstep(beacon, agreed=bool(welcome.gang), doubt=welcome.doubt)
        self.refusal = welcome.refusal
        self.stopped = self.alone = self.kernel = False
        self.stop_signal = 0
        self.trains_with_fit = True
        self._connection: Connection | None = connection
        self._checkpoints_seen = beacon.checkpoint_requests()
        self._blocked_seconds = 0.0
        self._given_up = self.settings.looks_only
        self._durability = Durability(beacon, lambda: self._connection is not None)
        self._cadence = Cadence(
            self.settings.overhead,
            self.settings.every_steps,
            int(self.settings.every_seconds * 1e9),
            self.settings.last_step,
            by_budget=not self.lockstep.agreed,
        )
        self._copier = Copier(
            beacon,
            run_dir,
            available_bytes,
            self.settings.snapshot_memory_bytes,
            self._offer_arena,
            self._send,
            self._copy_failed,
        )

    @classmethod
    def open(cls, socket_path: str, versions: dict[str, str]) -> Session:
        """Reports to the supervisor and waits for its welcome.

        Raises:
            PeerClosed: there is no supervisor any more.
            ProtocolMismatch: the supervisor refuses this process.
        """
        connection = Connection.connect(socket_path)
        connection.send(Hello(PROTOCOL, os.getpid(), platform.python_version(), sys.argv))
        received = connection.receive()
        if not isinstance(received.message, Welcome):
            connection.close()
            raise ProtocolMismatch(reason_of(received.message))
        session = cls(connection, Beacon(received.fds[0]), received.message)
        abandonment.watch(connection, session.beacon, lambda: not session.alone)
        python = platform.python_version()
        session.report(TrainerConnected(os.getpid(), python, sys.argv, versions, own_sources()))
        return session

    @property
    def is_over(self) -> bool:
        """Whether the attempt ends, or nobody is there to save it."""
        return self.stop_requested() or self._connection is None or self._connection.is_closed()

    def leave(self) -> None:
        """The process goes on without its run, which ends for it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.shut_down()
            connection.close()
        self._copier.close()

    def report(self, event: Event) -> None:
        """Sends an event to the journal; silent when the supervisor is gone."""
        self._send(EventReport(to_record(event)))

    def refuse(self, problem: PitstopError, code: str = "resume_refused") -> NoReturn:
        """Tells why the script may not go on, and leaves it (`Refused`)."""
        self.report(Notice(code, problem.message, problem.remedy))
        raise Refused

    def _not_finite(self, event: Event) -> None:
        """What follows is not saved where the run goes back before it."""
        self._given_up |= self.settings.rolls_back
        self.report(event)

    def start_from(self) -> str:
        """The saved weights that this attempt begins with; empty when it has its own state."""
        return "" if self.trainings.newest else self.settings.start_from

    def fetch(self, point: RestorePoint) -> SavedState:
        """The verified state of a restore point.

        Where there is none, the run is not resumed, and the user is told so:
        training from the start in its place would be a silent loss.

        Raises:
            PeerClosed: the supervisor is gone.
            PeerFault: the checkpoint no longer loads.
        """
        try:
            if self._connection is None:
                raise PeerClosed("The supervisor of this run is gone.")
            self._connection.send(RestoreRequest(point.checkpoint))
            received = self._connection.receive()
            if isinstance(received.message, ImageAnswer):
                return open_saved_state(received.fds)
            raise PeerFault(f"Checkpoint {point.checkpoint}: {reason_of(received.message)}.")
        except PeerFault as fault:
            self.report(Notice("resume_refused", str(fault), "Run the same command again."))
            raise

    # -- the step boundary ---------------------------------------------------

    def start_steps(self, step: int, *, repeats: bool = False) -> None:
        """The first step of a fit is about to run; the cadence counts from here.

        One that `repeats` was too short to be saved: it is not saved, for as long as it is short.
        Behind one that was saved in this process, what was begun is saved at once: a script that
        leaves out what has ended may be killed while it is traced.
        """
        now_ns = time.monotonic_ns()
        self._cadence.start(step, now_ns, age_ns(), marks=self.milestones.last_saved)
        self.milestones.begin(now_ns, repeats=repeats)
        if repeats:
            self._cadence.postponed(now_ns, self.milestones.short_ns)

    def stop_requested(self) -> bool:
        return self.beacon.stop() != 0

    def due(self, step: int, now_ns: int, *, waits: bool = False) -> bool:
        """Whether anything is to be done at this boundary; the hot path.

        What nobody has asked for `waits` where a better moment is to come.
        """
        planned = self._cadence.asked if waits else self._cadence.due
        return (
            self.beacon.stop() != 0
            or planned(step, now_ns)
            or self.beacon.checkpoint_requests() != self._checkpoints_seen
            or self.lockstep.saves_at(step)
        )

    def give_up_snapshots(self, error: Exception) -> None:
        """Our own code failed: the user's training goes on without snapshots."""
        if not self._given_up:
            self._given_up = True
            self.report(copier.pitstop_failed(error))

    def phase(self) -> Phase:
        return self.beacon.phase()

    def act(self, step: int, take: Callable[[], StateCapture | None]) -> bool:
        """Does what is due at this boundary.

        Returns:
            Whether a snapshot was begun, whose cost the next steps will show.

        Raises:
            TrainingStopped: the run was asked to stop; the state is saved.
        """
        self._end_where_set(step, take)
        if self.stop_requested():
            self.stop_with(take(), "train")
        now_ns = time.monotonic_ns()
        requested = self.beacon.checkpoint_requests() != self._checkpoints_seen
        if requested or self.lockstep.saves_at(step) or self._cadence.fixed_due(step, now_ns):
            self._durability.wait(self._nobody_stops)
            return self._snapshot(take, "requested", durable=True)
        if not self._copier.ready or self._durability.pending:
            self._cadence.postponed(now_ns)
            return False
        return self._snapshot(take, "cadence", durable=False)

    def snapshot_cost(self, seconds: float) -> None:
        """What the last snapshot cost the training, as the steps behind it tell."""
        self._cadence.cost_measured(max(seconds, self._blocked_seconds))

    def milestone(self, take: Callable[[], StateCapture | None]) -> None:
        """Saves the outcome of a fit, if it is worth it, and waits until it is durable.

        The next snapshot would otherwise take its place before it is on disk.
        A full disk or a lost supervisor does not hold the script up.
        """
        if self.stopped or self._given_up or self.settings.export_to:
            return
        started_ns = time.monotonic_ns()
        if not self.milestones.wanted(self.trainings.begun, started_ns):
            if self.milestones.left_out == 1:
                self.report(copier.short_trainings(self.trainings.begun))
            return
        cut = take()
        if cut is not None:
            self._durability.wait(self._nobody_stops)
            self._durability.expect(self._copier.copy_now(cut, "fit_end", durable=True))
            self._durability.wait(self._nobody_stops)
            self.milestones.saved((time.monotonic_ns() - started_ns) / 1e9)
            self._cadence.taken(cut.position.step, time.monotonic_ns())

    def keep_behind_error(self, cut: StateCapture | None) -> None:
        """An exception leaves a fit behind this cut; the process may end, and its memory stays."""
        if cut is not None and not self._given_up and not self._durability.pending:
            self._copier.copy_now(cut, "exception", durable=False)

    def epoch_ended(self, cut: StateCapture | None, metrics: dict[str, float]) -> None:
        """The metrics of an epoch are known: its held end is kept if they are among the best."""
        if cut is None or self._given_up or not self.bests.accepts(cut.position.step, metrics):
            return
        self._durability.wait(self._nobody_stops)
        finite = {name: value for name, value in metrics.items() if math.isfinite(value)}
        best = cut.measured(finite)
        self._durability.expect(self._copier.copy_now(best, "best", durable=True))

    def stop_with(self, cut: StateCapture | None, phase: str, at: Position | None = None) -> None:
        """Saves a cut (None: the newest checkpoint says it all), and raises `TrainingStopped`."""
        if self.stopped:
            raise TrainingStopped
        self.beacon.write_phase(Phase.SAVING)
        self._durability.wait(lambda: self.beacon.stop() < Stop.NOW, _STOP_WAIT_SECONDS)
        if cut is not None and not self._given_up:
            name = self._take_request()
            named = cut.named(name) if name else cut
            self._durability.expect(self._copier.copy_now(named, "stop", durable=True))
        where = cut.position if cut is not None else at or self.beacon.progress()
        self.report(TrainerStopped(where.step, where.epoch, where.step_in_epoch, phase))
        if self.alone:
            self._durability.wait(lambda: True)
        self.stopped = True
        # Where a script goes on, whatever it trains next has to see it.
        self.beacon.request_stop(Stop.GRACEFUL)
        raise TrainingStopped

    def _nobody_stops(self) -> bool:
        return not self.stop_requested()

    def _take_request(self) -> str | None:
        """The name, or nothing, of a checkpoint that was asked for since; None when none was."""
        before, self._checkpoints_seen = self._checkpoints_seen, self.beacon.checkpoint_requests()
        return None if self._checkpoints_seen == before else self.beacon.take_checkpoint_name()

    def _end_where_set(self, step: int, take: Callable[[], StateCapture | None]) -> None:
        if 0 < self.settings.die_at_step <= step:
            os.kill(os.getpid(), signal.SIGKILL)
        if 0 < self.settings.halt_at_step <= step:
            self.report(StopRequested(source="setting", urgency="graceful"))
            self.stop_with(take(), "train")

    def _snapshot(
        self, take: Callable[[], StateCapture | None], reason: str, *, durable: bool
    ) -> bool:
        self._copier.wait()
        started_ns = time.monotonic_ns()
        cut = None if self._given_up else take()
        # One may have come while the cut was taken.
        name = self._take_request()
        if name is not None:
            reason, durable = "requested", True
        if cut is None:
            if name is not None:
                step = self.beacon.progress().step
                words = "No snapshot can be taken of this training."
                self.report(CheckpointFailed(step, words, "`pitstop status` tells why."))
            self._cadence.postponed(started_ns, _GIVEN_UP_NS)
            return False
        step_seconds = self.beacon.progress().step_seconds
        waits = is_copied_before(cut.size_bytes, self._copier.copy_seconds, step_seconds)
        if waits and not durable and self._copier.makes_room(cut.size_bytes):
            self._cadence.postponed(started_ns)
            return False
        cut = cut.named(name) if name else cut
        self._cadence.taken(cut.position.step, started_ns)
        if waits:
            self._copier.copy_now(cut, reason, durable=durable)
        else:
            self._copier.submit(cut, reason, durable=durable)
        self._blocked_seconds = (time.monotonic_ns() - started_ns) / 1e9
        return True

    # -- what the copier reports ----------------------------------------------

    def _offer_arena(self, arena: Arena) -> None:
        plan = arena.plan
        self._send(ArenaOffer(plan.size_bytes, plan.backing), arena.fd)
        if plan.backing == "file":
            self.report(copier.memory_short(plan))

    def _copy_failed(self, error: Exception) -> None:
        self.report(copier.snapshot_failed(self.beacon.progress().step, error))
        if not isinstance(error, (OSError, MemoryError)):
            self.give_up_snapshots(error)

    def _send(self, message: Message, *fds: int) -> None:
        connection = self._connection
        if connection is None:
            return
        try:
            connection.send(message, fds)
        except PeerClosed:
            # The persister notices too, and asks this process to stop.
            self._connection = None
            connection.close()
        except (TypeError, ValueError) as error:
            FENCE.note(f"sending of {message.type}", error)
