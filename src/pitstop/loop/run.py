"""A custom training loop under Pitstop: its steps, its metrics, its end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from pitstop import steps
from pitstop.engine.leaving import TrainingStopped, ending_threads
from pitstop.engine.python_state import decode
from pitstop.engine.refused import refuse_resume
from pitstop.engine.saved_state import SavedState
from pitstop.engine.session import Session
from pitstop.engine.state_capture import Position, StateCapture
from pitstop.engine.step_boundary import NO_LOSS, StepBoundary
from pitstop.engine.stop_signals import StopSignals
from pitstop.errors import ResumeRefused
from pitstop.events import LOOPS, FitEnded, FitRestored, FitStarted, LevelKnown, Restored
from pitstop.link.beacon import Phase
from pitstop.loop.loop_state import LoopState
from pitstop.tensorflow.allocators import allocators


class Run:
    """What `pitstop.start` returns.

    Attributes:
        step: training steps completed over the whole run.
        resumed: an earlier attempt's state was restored.
        stopped: the run was asked to stop, and `steps` has ended for that.
    """

    def __init__(self, session: Session, state: LoopState, *, returns: bool) -> None:
        """Restores nothing yet; `returns` lets the script go on behind a stop."""
        self.step = 0
        self.resumed = False
        self.stopped = False
        self._session = session
        self._state = state
        self._returns = returns
        self._saved: Position | None = None
        self._unsettled: SavedState | None = None
        self._index = -1
        self._done = 0
        self._metrics: dict[str, Any] = {}
        self._boundary = StepBoundary(session)
        self._level = ""

    def restore(self, saved: SavedState) -> None:
        """Brings the objects to a saved state; the loops follow when they begin.

        Raises:
            ResumeRefused: the script keeps other objects, or another model.
        """
        started = time.monotonic()
        self._state.restore(saved)
        self._unsettled = saved
        position = self._saved = saved.position
        self.step = position.step
        self.resumed = True
        self._metrics = decode(saved.state["loop"]["metrics"], saved.tensors)
        level = saved.state["level"]
        if self._state.reason and level["level"] != "not_exact":
            # The state is exact here, and not for another member of the gang.
            level = {"level": self._state.level, "reason": self._state.reason}
        seconds = round(time.monotonic() - started, 4)
        if position.milestone:
            self._session.report(FitRestored(position.fit, position.step, 1, seconds))
            return
        self._session.report(
            Restored(
                step=position.step,
                epoch=0,
                step_in_epoch=position.step_in_epoch,
                level=level["level"],
                reason=level["reason"],
                seconds=seconds,
                lost_steps=max(0, self._session.lost_from_step - position.step),
            )
        )

    def steps(self, count: int | None = None) -> Iterator[int]:
        """The steps of a loop: 0, 1, ... as `range` has them, from where the run stands.

        The boundary is where the next step is asked for: snapshots are taken
        and stops are obeyed there.  A loop that an earlier attempt finished has
        no steps left.

        Raises:
            TrainingStopped: (a SystemExit, code 75) a stop was obeyed.
        """
        self._index = self._session.trainings.next_index()
        self._done = self._steps_done()
        if self._is_finished() or self.stopped:
            return
        with ending_threads(), StopSignals(self._session):
            try:
                yield from self._train(count)
            except GeneratorExit:
                # A `break`; an exception in the step ends up here too, and is told by itself.
                self._report_end()
                raise
            except TrainingStopped:
                self.stopped = True
                if not self._returns:
                    raise

    def log(self, **metrics: Any) -> None:
        """Numbers of the present step, for `status` and `why`; `loss` is watched for NaN."""
        self._metrics = metrics

    def _train(self, count: int | None) -> Iterator[int]:
        beacon = self._session.beacon
        beacon.write_plan(self._index, 1, count or 0, 0)
        self._session.report(FitStarted(self._index, 1, count, {"adapter": LOOPS[0]}))
        self._session.start_steps(self.step)
        beacon.write_phase(Phase.FIRST_STEP)
        self._boundary.start()
        self._reach_boundary(NO_LOSS, self._boundary.passed_ns)
        while count is None or self._done < count:
            yield self._done
            self._step_done()
        self._session.milestone(lambda: self._cut("fit_end"))
        self._report_end()
        beacon.write_phase(Phase.BETWEEN_FITS)

    def _report_end(self) -> None:
        self._session.report(FitEnded(self._index, self.step, 1, 1))

    def _step_done(self) -> None:
        self._settle()
        now_ns = time.monotonic_ns()
        self._boundary.measure(now_ns)
        self._session.beacon.write_phase(Phase.TRAIN)
        self.step += 1
        self._done += 1
        numbers = {name: float(value) for name, value in self._metrics.items()}
        loss = numbers.get("loss", NO_LOSS)
        self._boundary.record(
            steps.StepRecord(self.step, self._index, 0, loss, time.time(), steps.digest(numbers))
        )
        vitals = self._session.vitals
        if now_ns >= vitals.due_ns:
            vitals.tell(lambda: {"metrics": numbers, "allocators": allocators()})
        if "loss" in numbers:
            self._session.losses.note(self.step, 0, self._done, loss)
        self._reach_boundary(loss, now_ns)

    def _settle(self) -> None:
        saved, self._unsettled = self._unsettled, None
        if saved is None:
            return
        try:
            self._state.settle(saved)
        except ResumeRefused as refusal:
            refuse_resume(self._session, refusal)

    def _reach_boundary(self, loss: float, now_ns: int) -> None:
        self._boundary.reach(self.step, 0, self._done, loss, now_ns)
        self._boundary.obey(self.step, self._take)

    def _take(self) -> StateCapture | None:
        return self._cut("")

    def _cut(self, milestone: str) -> StateCapture:
        position = Position(self.step, self._index, 0, self._done, "steps", milestone)
        numbers = {name: float(value) for name, value in self._metrics.items()}
        cut = self._state.cut(position, numbers)
        if self._state.level != self._level:
            self._level = self._state.level
            state = self._state
            self._session.report(LevelKnown(state.level, state.reason, state.unverified))
        return cut

    def _steps_done(self) -> int:
        here = self._saved is not None and self._saved.fit == self._index
        return self._saved.step_in_epoch if self._saved and here else 0

    def _is_finished(self) -> bool:
        saved = self._saved
        if saved is None:
            return False
        return self._index < saved.fit or (self._index == saved.fit and bool(saved.milestone))
