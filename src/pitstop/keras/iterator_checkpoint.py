"""The state of an iterator, which the snapshots of a while refer to."""

from __future__ import annotations

from dataclasses import dataclass

STATES_SHARE = 0.0025
"""States are taken at most for this share of the time: a quarter of the usual budget."""
_SNAPSHOT_EVERY_SECONDS = 60.0
_SNAPSHOTS_SHARE = 0.5
_LARGE_SHARE = 0.25


@dataclass(frozen=True)
class IteratorCheckpoint:
    """A place in the input, taken once for the snapshots of a while.

    To serialise an iterator takes TensorFlow about 4 us for each element in a shuffle's buffer,
    while training waits: 1.5 s and 123 MB for 100,000 records of 1 KB. The same place is reached
    from the state of a moment ago and the number of batches drawn since.

    `created`: which iterator of the input it is of, from 1. `drawn`: batches drawn from it before.
    `taken_seconds` is on a clock that is never set.
    """

    data: bytes
    created: int
    drawn: int
    taken_seconds: float
    cost_seconds: float

    def serves(self, created: int, now_seconds: float) -> bool:
        """Whether a snapshot may refer to it: a resume draws again what was drawn since."""
        age_seconds = now_seconds - self.taken_seconds
        return created == self.created and age_seconds * STATES_SHARE < self.cost_seconds

    def costs_too_much(self, snapshot_seconds: float, overhead: float) -> bool:
        """Whether snapshots with it would be a minute apart to stay within `overhead`."""
        affordable_seconds = _SNAPSHOT_EVERY_SECONDS * overhead * _SNAPSHOTS_SHARE
        return self.cost_seconds > max(_LARGE_SHARE * snapshot_seconds, affordable_seconds)

    @property
    def cost_words(self) -> str:
        return (
            f"the input's buffers are too large to save ({self.cost_seconds:.1f} s and "
            f"{len(self.data) / 1e6:.0f} MB each time)"
        )
