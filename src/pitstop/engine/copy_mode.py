"""Whether a cut is copied beside the next steps or before them; measured, not guessed.

Beside: the step goes on at once, and TensorFlow gives every variable it updates
a new buffer.  That is free for small states; for large ones the fresh memory's
page faults cost several times the copy (0.8 GB: 90 to 650 ms against 40).
Before: the trainer waits while several threads copy at the speed of memory.
"""

from __future__ import annotations

import enum

_SMALL_BYTES = 64 << 20
_SMOOTHING = 0.3
_TRIES = 2
_RETRY_EVERY = 32


class CopyMode(enum.Enum):
    """When the bytes of a cut are copied."""

    BESIDE = "beside"
    BEFORE = "before"


class CopyModeChooser:
    """Tries both ways, keeps to the cheaper one, and looks again now and then."""

    def __init__(self) -> None:
        self._cost_seconds: dict[CopyMode, float] = {}
        self._taken = dict.fromkeys(CopyMode, 0)
        self._last = CopyMode.BESIDE

    def choose(self, size_bytes: int) -> CopyMode:
        """The way for the next snapshot.

        Args:
            size_bytes: size of the last one, 0 for the first, which also makes
                the arena and therefore stays beside the steps.
        """
        if size_bytes < _SMALL_BYTES:
            self._last = CopyMode.BESIDE
        else:
            self._last = self._of_large()
        self._taken[self._last] += 1
        return self._last

    def measured(self, seconds: float) -> None:
        """What the last snapshot cost the training."""
        known = self._cost_seconds.get(self._last)
        # The first of each kind pays for set-up and is not held against it.
        if known is None or self._taken[self._last] <= _TRIES:
            self._cost_seconds[self._last] = seconds
        else:
            self._cost_seconds[self._last] = known + _SMOOTHING * (seconds - known)

    def _of_large(self) -> CopyMode:
        untried = [mode for mode in CopyMode if self._taken[mode] < _TRIES]
        if untried:
            return untried[-1]
        cheap, dear = sorted(CopyMode, key=lambda mode: self._cost_seconds.get(mode, 0.0))
        return dear if sum(self._taken.values()) % _RETRY_EVERY == 0 else cheap
