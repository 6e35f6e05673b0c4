"""The boundary between two training steps: measured, recorded, published, and obeyed."""

import math
import time
from collections.abc import Callable

from pitstop.engine.session.session import Session
from pitstop.engine.snapshots.snapshots import Take

_SMOOTHING = 0.1
_AFFECTED_STEPS = 2
NO_LOSS = math.nan  # the loss of a step that returned none


class StepClock:
    """How long steps take, and how much longer those after a snapshot do.

    Holding a snapshot is cheap; the price is paid by the next steps, which copy what they update
    and share the memory bus with the copier.

    `typical_seconds`: time of a step that no snapshot slowed; the shortest one while every step has
    a snapshot after it, 0 before the first.
    """

    def __init__(self) -> None:
        self.typical_seconds = 0.0
        self._undisturbed = False
        self._awaited = 0
        self._slowed: list[float] = []

    def snapshot_taken(self) -> None:
        self._awaited = _AFFECTED_STEPS
        self._slowed.clear()

    def lap(self, seconds: float) -> float | None:
        """Counts a step; what the last snapshot cost, once the steps it slowed have ended."""
        if not self._awaited:
            known = self.typical_seconds if self._undisturbed else seconds
            self._undisturbed = True
            self.typical_seconds = known + _SMOOTHING * (seconds - known)
            return None
        if not self._undisturbed:
            self.typical_seconds = min(self.typical_seconds or seconds, seconds)
        self._slowed.append(seconds)
        return self.cut_short() if len(self._slowed) == self._awaited else None

    def cut_short(self) -> float | None:
        """Another snapshot is due: what the last one cost; None where that is known already."""
        if not self._slowed:
            return None
        lost_seconds = sum(self._slowed) - len(self._slowed) * self.typical_seconds
        self._awaited = 0
        self._slowed.clear()
        return max(0.0, lost_seconds)


class StepBoundary:
    """What every kind of training does between two steps; the training only says its state.

    Belongs to the thread that trains.  In the usual case, when nothing is due, a boundary is a few
    writes to memory and three comparisons.
    """

    def __init__(self, session: Session) -> None:
        # whether a cut at this time waits for nothing; else one that nobody has asked for is left
        # to a later boundary
        self.is_settled: Callable[[int], bool] = lambda _: True
        self.on_cost: Callable[[float], None] = lambda _: None
        self.passed_ns = 0
        self._session = session
        self._clock = StepClock()

    def start(self) -> None:
        self.passed_ns = time.monotonic_ns()

    def measure(self, now_ns: int) -> None:
        self._note_cost(self._clock.lap((now_ns - self.passed_ns) / 1e9))
        self._session.beacon.write_step_seconds(self._clock.typical_seconds)

    def reach(self, step: int, epoch: int, step_in_epoch: int, loss: float, now_ns: int) -> None:
        self.passed_ns = now_ns
        self._session.beacon.write_position(step, epoch, step_in_epoch, now_ns, loss)

    def obey(self, step: int, take: Take) -> None:
        """Does what is due at this boundary; raises `TrainingStopped` once the state is saved."""
        if not self._session.snapshots.lockstep.ends(step):
            return
        waits = not self.is_settled(self.passed_ns)
        if not self._session.snapshots.due(step, self.passed_ns, waits=waits):
            return
        self._note_cost(self._clock.cut_short())
        if self._session.snapshots.act(step, take):
            self._clock.snapshot_taken()

    def _note_cost(self, cost_seconds: float | None) -> None:
        if cost_seconds is None:
            return
        self._session.snapshots.cost_measured(cost_seconds)
        self.on_cost(cost_seconds)
