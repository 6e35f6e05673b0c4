"""The boundary between two training steps: measured, recorded, published, and obeyed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from pitstop.engine.session import Session
from pitstop.engine.state_capture import StateCapture
from pitstop.engine.step_clock import StepClock
from pitstop.steps import StepRecord

NO_LOSS = math.nan
"""The loss of a step that returned none."""


class StepBoundary:
    """What every kind of training does between two steps; the training only says its state.

    Belongs to the thread that trains.  In the usual case, when nothing is due, a boundary is a few
    writes to memory and three comparisons.
    """

    def __init__(self, session: Session, on_cost: Callable[[float], None] | None = None) -> None:
        self.passed_ns = 0
        self._session = session
        self._on_cost = on_cost
        self._clock = StepClock()

    def start(self) -> None:
        """The next step is the first; the time before it does not count."""
        self.passed_ns = time.monotonic_ns()

    def measure(self, now_ns: int) -> None:
        """A step has ended, that began at the boundary before."""
        self._note_cost(self._clock.lap((now_ns - self.passed_ns) / 1e9))
        self._session.beacon.write_step_seconds(self._clock.typical_seconds)

    def record(self, record: StepRecord) -> None:
        """Writes down a step that has ended."""
        self._session.steps.record(record)

    def reach(self, step: int, epoch: int, step_in_epoch: int, loss: float, now_ns: int) -> None:
        """Publishes the position that the training has reached; `epoch` is counted from 0."""
        self.passed_ns = now_ns
        self._session.beacon.write_position(step, epoch, step_in_epoch, now_ns, loss)

    def obey(self, step: int, take: Callable[[], StateCapture | None]) -> None:
        """Does what is due at the boundary that was reached: a snapshot, a checkpoint, a stop.

        Raises:
            TrainingStopped: the run was asked to stop; the state is saved.
        """
        if not self._session.due(step, self.passed_ns):
            return
        self._note_cost(self._clock.cut_short())
        if self._session.act(step, take):
            self._clock.snapshot_taken()

    def _note_cost(self, cost_seconds: float | None) -> None:
        if cost_seconds is None:
            return
        self._session.snapshot_cost(cost_seconds)
        if self._on_cost is not None:
            self._on_cost(cost_seconds)
