"""How long steps take, and how much longer those behind a snapshot do.

Holding a snapshot is cheap; the price is paid by the next steps, which copy
what they update and share the memory bus with the copier.  Only the steps
themselves tell that price.
"""

from __future__ import annotations

_SMOOTHING = 0.1
_AFFECTED_STEPS = 2


class StepClock:
    """Smoothed step time, and the cost of each snapshot.

    Attributes:
        typical_seconds: time of a step that no snapshot slowed; the shortest
            one while every step has a snapshot behind it, 0 before the first.
    """

    def __init__(self) -> None:
        self.typical_seconds = 0.0
        self._undisturbed = False
        self._awaited = 0
        self._slowed: list[float] = []

    def snapshot_taken(self) -> None:
        """A snapshot was taken at the boundary that begins the next step."""
        self._awaited = _AFFECTED_STEPS
        self._slowed.clear()

    def lap(self, seconds: float) -> float | None:
        """Counts a step; what the last snapshot cost, once the steps it slowed have ended."""
        if not self._awaited:
            self._learn(seconds)
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

    def _learn(self, seconds: float) -> None:
        known = self.typical_seconds if self._undisturbed else seconds
        self._undisturbed = True
        self.typical_seconds = known + _SMOOTHING * (seconds - known)
