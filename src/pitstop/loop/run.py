"""A custom training loop under Pitstop: its steps, its metrics, its end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from pitstop import steps
from pitstop.engine.earlier_files import EARLIER
from pitstop.engine.exactness import Exactness
from pitstop.engine.leaving import TrainingStopped, ending_threads
from pitstop.engine.outside import OUTSIDE
from pitstop.engine.python_state import decode
from pitstop.engine.saved_state import SavedState
from pitstop.engine.script_stop import StopSignals
from pitstop.engine.session import Session
from pitstop.engine.state_capture import Position, StateCapture
from pitstop.engine.step_recorder import began_seconds
from pitstop.errors import ResumeRefused
from pitstop.events import LOOPS
from pitstop.link.beacon import Phase
from pitstop.loop.loop_state import LoopState
from pitstop.tensorflow.script_loop import ScriptLoop


class Run:
    """What `pitstop.start` returns.

    Attributes:
        step: training steps completed over the whole run.
        resumed: an earlier attempt's state was restored.
        stopped: the run was asked to stop, and `steps` has ended for that.
    """

    def __init__(self, session: Session, state: LoopState, *, returns: bool) -> None:
        """Restores nothing yet; `returns` lets the script go on behind a stop."""
        self.resumed = False
        self.stopped = False
        self._session = session
        self._state = state
        self._returns = returns
        self._saved: Position | None = None
        self._unsettled: SavedState | None = None
        self._loop = ScriptLoop(session, LOOPS[0], -1, 0)
        self._metrics: dict[str, Any] = {}

    @property
    def step(self) -> int:
        return self._loop.step

    def restore(self, saved: SavedState) -> None:
        """Brings the objects to a saved state; the loops follow when they begin.

        Raises `ResumeRefused` where the script keeps other objects, or another model.
        """
        started = time.monotonic()
        self._state.restore(saved)
        began = began_seconds(self._session.attempt_dir)
        EARLIER.watch(saved.state["time_seconds"], self._state.doubt, began)
        self._unsettled = saved
        position = self._saved = saved.position
        self._loop.step = position.step
        self.resumed = True
        self._metrics = decode(saved.state["loop"]["metrics"], saved.tensors)
        level = Exactness(saved.state["level"]["level"], saved.state["level"]["reason"])
        # The state may be exact here, and not for another member of the gang.
        own = self._state.level
        is_less = own.level == "not_exact" and level.level != "not_exact"
        self._loop.tell_restored(position, own if is_less else level, started)

    def steps(self, count: int | None = None) -> Iterator[int]:
        """The steps of a loop: 0, 1, ... as `range` has them, from where the run stands.

        The boundary is where the next step is asked for: snapshots are taken
        and stops are obeyed there.  A loop that an earlier attempt finished has
        no steps left.

        Raises:
            TrainingStopped: (a SystemExit, code 75) a stop was obeyed.
        """
        loop, saved = self._loop, self._saved
        loop.index = self._session.trainings.next_index()
        here = saved is not None and saved.fit == loop.index
        loop.done = saved.step_in_epoch if saved is not None and here else 0
        is_finished = saved is not None and (
            loop.index < saved.fit or (here and bool(saved.milestone))
        )
        if self.stopped or is_finished:
            return
        with ending_threads(), StopSignals(self._session):
            try:
                yield from self._train(count)
            except GeneratorExit:
                # A `break`; an exception in the step ends up here too, and is told by itself.
                self._loop.tell_end()
                raise
            except TrainingStopped:
                self.stopped = True
                if not self._returns:
                    raise

    def log(self, **metrics: Any) -> None:
        """Numbers of the present step, for `status` and `why`; `loss` is watched for NaN."""
        self._metrics = metrics

    def _train(self, count: int | None) -> Iterator[int]:
        beacon, loop = self._session.beacon, self._loop
        beacon.write_plan(loop.index, 1, count or 0, 0)
        loop.begin(count)
        OUTSIDE.begin(self._state.doubt)
        OUTSIDE.begin_steps()
        beacon.write_phase(Phase.FIRST_STEP)
        loop.boundary.start()
        loop.reach(loop.boundary.passed_ns)
        loop.boundary.obey(loop.step, self._cut)
        while count is None or loop.done < count:
            yield loop.done
            self._step_done()
        OUTSIDE.leave()
        EARLIER.leave()
        self._session.snapshots.milestone(lambda: self._cut("fit_end"))
        loop.tell_end()
        beacon.write_phase(Phase.BETWEEN_FITS)

    def _step_done(self) -> None:
        self._settle()
        now_ns = time.monotonic_ns()
        loop = self._loop
        loop.boundary.measure(now_ns)
        self._session.beacon.write_phase(Phase.TRAIN)
        numbers = self._numbers()
        loop.step_done(numbers.get("loss"), steps.digest(numbers))
        loop.reach(now_ns, numbers)
        loop.boundary.obey(loop.step, self._cut)

    def _numbers(self) -> dict[str, float]:
        return {name: float(value) for name, value in self._metrics.items()}

    def _settle(self) -> None:
        saved, self._unsettled = self._unsettled, None
        if saved is None:
            return
        try:
            self._state.settle(saved)
        except ResumeRefused as refusal:
            self._session.refuse(refusal)

    def _cut(self, milestone: str = "") -> StateCapture:
        return self._state.cut(self._loop, self._numbers(), milestone)
