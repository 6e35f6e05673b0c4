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
        typical_seconds: time of a step that no snapshot slowed, 0 before the first.
    """

    def __init__(self) -> None:
        self.typical_seconds = 0.0
        self._affected = 0
        self._cost_seconds = 0.0

    def snapshot_taken(self) -> None:
        """A snapshot was taken at the boundary that begins the next step."""
        self._affected = _AFFECTED_STEPS
        self._cost_seconds = 0.0

    def lap(self, seconds: float) -> float | None:
        """Counts a step, from boundary to boundary.

        Returns:
            What the last snapshot cost all in all, when the last step it
            slowed has ended; None at every other step.
        """
        typical_seconds = self.typical_seconds or seconds
        if not self._affected:
            self.typical_seconds = typical_seconds + _SMOOTHING * (seconds - typical_seconds)
            return None
        self._affected -= 1
        self._cost_seconds += seconds - typical_seconds
        return None if self._affected else max(0.0, self._cost_seconds)
