"""A custom loop that runs: its record, its boundaries, its cuts."""

from __future__ import annotations

import atexit
import os
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from pitstop import steps
from pitstop.engine.exactness import Exactness
from pitstop.engine.session import Session
from pitstop.engine.state_capture import Position, StateCapture
from pitstop.engine.step_boundary import NO_LOSS, StepBoundary
from pitstop.events import LOOPS, FitEnded, FitStarted, LevelKnown
from pitstop.link.beacon import Phase
from pitstop.replay.closures import ASYNCHRONOUS, Closures, is_of_another_task
from pitstop.replay.loop_cut import make_cut, read_now
from pitstop.replay.loop_identity import LoopIdentity
from pitstop.replay.record import LoopRecord, RecordEntry, RecordFull, RecordKind
from pitstop.replay.values import NotRecordable
from pitstop.tensorflow import randomness
from pitstop.tensorflow.allocators import allocators
from pitstop.tensorflow.devices import level_of_process
from pitstop.tensorflow.variables import VariableRegistry

_ADVICE = "use pitstop.start and run.steps, two lines, which save the loop's state itself"


class LiveLoop:
    """The steps of one loop, counted and saved.

    Attributes:
        index: which training of the process, counted from 0.
        step: steps completed over the whole run.
        calls: how many calls that are, looks at variables not counted.
        first_random: the random streams at the first step, as plain values.
        identity: what the loop is known by.
        keeps: a resume can replay the loop: it is still recorded.
    """

    def __init__(
        self,
        session: Session,
        registry: VariableRegistry,
        index: int,
        step: int,
        identity: LoopIdentity,
        closures: Closures | None = None,
    ) -> None:
        self.session = session
        self.index = index
        self.step = step
        self.record = LoopRecord()
        self.calls = 0
        self.first_random = randomness.capture()
        self.identity = identity
        # Run again from its beginning although the run was beyond it: saving it
        # would take the place of what is newer.
        self.keeps = not session.trainings.is_past(index)
        self._first_step = step
        self._registry = registry
        self._closures = closures
        if closures is not None:
            closures.begin(session.beacon)
            self._level = ASYNCHRONOUS
        else:
            self._level = level_of_process(session) or Exactness("exact_by_replay")
        self._reported: Exactness | None = None
        self._boundary = StepBoundary(session)
        self._boundary.start()
        self._boundaries = 0
        self._pid = os.getpid()
        self._loss = NO_LOSS

    @property
    def level(self) -> Exactness:
        return self._level

    def start(self) -> None:
        self.session.report(FitStarted(self.index, 1, None, {"adapter": LOOPS[1]}))
        atexit.register(self.script_ended)
        self._boundary.start()
        self.session.start_steps(self.step)
        self.session.beacon.write_phase(Phase.TRAIN)

    def settle(self) -> None:
        """Waits for what the script has scheduled, see `Closures.settle`."""
        if self._closures is not None:
            self._closures.settle()

    def doubt(self, reason: str) -> None:
        """A resume will not be exact; the first reason is the one that is told."""
        if self._level.level != "not_exact":
            self._level = Exactness("not_exact", reason)

    def give_up(self, reason: str, *, raised: bool = False) -> None:
        """The loop cannot be replayed: nothing of it is saved any more.

        Where something was `raised`, this is told when the script goes on all the same.
        """
        if self.keeps:
            self.keeps = False
            self.record = LoopRecord()
            advice = f"; {_ADVICE}" if self._closures is None else ""
            self._level = Exactness("not_exact", f"{reason}{advice}")
            if not raised:
                self.report_level([])

    @contextmanager
    def recording(self, what: str) -> Iterator[None]:
        """Nothing more is recorded when a value cannot be.

        Only code of ours runs in here: whatever goes wrong, the user's training
        must not end because of it.
        """
        try:
            yield
        except NotRecordable as refusal:
            self.give_up(f"{what} {refusal}")
        except Exception as error:  # noqa: BLE001
            self.give_up(f"Pitstop failed to record it ({error!r}), please report this as a bug")

    def note(self, entry: RecordEntry) -> None:
        """Adds to the record, if there still is one."""
        self.calls += entry.kind is RecordKind.CALL
        if not self.keeps:
            return
        try:
            self.record.append(entry)
        except RecordFull as full:
            self.give_up(str(full))

    def step_done(self, loss: float | None, data: memoryview) -> None:
        """A recorded call changed the model, and returned this loss and this data."""
        self.step += 1
        self._loss = NO_LOSS if loss is None else loss
        self._boundary.record(
            steps.StepRecord(self.step, self.index, 0, self._loss, time.time(), zlib.crc32(data))
        )
        if loss is not None:
            self.session.losses.note(self.step, 0, self.step - self._first_step, loss)

    def continue_at(self, position: Position) -> None:
        """The steps up to here are done, by an earlier attempt."""
        self.step = position.step
        self._first_step = position.step - position.step_in_epoch

    def boundary(self) -> None:
        """A recorded call has ended: snapshots are taken and stops are obeyed here.

        Raises:
            TrainingStopped: the run was asked to stop; the state is saved.
        """
        now_ns = time.monotonic_ns()
        self._boundaries += 1
        if self._boundaries > 1:
            self._boundary.measure(now_ns)
        self.publish(now_ns)
        if now_ns >= self.session.vitals.due_ns:
            self.session.vitals.tell(lambda: {"allocators": allocators()})
        waits = self._closures is not None and not self._closures.is_consistent(now_ns)
        if not waits or self.session.due(self.step, now_ns, waits=True):
            self._boundary.obey(self.step, self.take)

    def obey_stop(self) -> None:
        """A call is about to run: where nothing is saved, nothing is lost by stopping here.

        Raises:
            TrainingStopped: the run was asked to stop.
        """
        if self.keeps:
            return
        self.report_level([])
        if self.session.stop_requested():
            self.session.stop_with(None, "train")

    def publish(self, now_ns: int) -> None:
        self._boundary.reach(self.step, 0, self.step - self._first_step, self._loss, now_ns)

    def finish(self) -> None:
        """The loop is over, because a `fit` begins; its outcome is kept."""
        self.session.milestone(lambda: self.take(milestone="loop_end"))
        self._report_end()

    def script_ended(self) -> None:
        """The interpreter exits, and the loop with it."""
        # `last_value` is set by an exception that nobody caught.
        if os.getpid() == self._pid and not hasattr(sys, "last_value"):
            self._report_end()

    def _report_end(self) -> None:
        atexit.unregister(self.script_ended)
        if not self.session.stop_requested():
            self.report_level([])
            self.session.report(FitEnded(self.index, self.step, 1, 1))

    # -- cuts --------------------------------------------------------------------

    def take(self, milestone: str = "") -> StateCapture | None:
        """A consistent cut, here and now; None when there is none to take.

        Only code of ours runs in here: whatever goes wrong, the user's training
        must not end because of it.
        """
        closures = self._closures
        if not self.keeps:
            return None
        if closures is None:
            return self._take(milestone)
        return closures.wait(lambda: self._take(milestone) if closures.settles() else None)

    def _take(self, milestone: str) -> StateCapture | None:
        try:
            return self._cut(milestone)
        except Exception as error:  # noqa: BLE001
            if not (self._closures is not None and is_of_another_task(error)):
                self.session.give_up_snapshots(error)
            return None

    def _cut(self, milestone: str) -> StateCapture:
        done = self.step - self._first_step
        position = Position(self.step, self.index, 0, done, "steps", milestone)
        held = self._registry.hold()
        if self._closures is not None:
            held = read_now(held)
            for entry in self._closures.unrecorded():
                self.note(entry)
        self.report_level(held.refused)
        first = self.first_random, self.identity
        return make_cut(position, self._level, held, self.record, *first)

    def report_level(self, unverified: list[str]) -> None:
        """Tells the level, when it has changed."""
        if self._level != self._reported:
            self._reported = self._level
            self.session.report(LevelKnown(self._level.level, self._level.reason, unverified))
