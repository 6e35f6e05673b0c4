"""Whether a cut is copied beside the next step or before it.

Beside: the step goes on at once.  TensorFlow gives a variable that it updates a
new buffer while the old one is held; so the copy must be over before the updates,
which come last in a step.  Otherwise there is a third copy of the state for
a while, and the page faults of its fresh memory cost several times the copy
(0.8 GB: 90 to 650 ms against 40).
Before: the trainer waits while several threads copy at the speed of memory.

Small states are copied beside any step: what they cost cannot be measured.
"""

from __future__ import annotations

LARGE_BYTES = 64 << 20

BESIDE_SHARE = 0.7
"""Values are let go as they are copied, so that a copy which reaches a little into the updates
costs little.  Measured at 0.5 (0.8 GB, steps of 0.2 s, Adam on two cores): beside, a snapshot
keeps the trainer for 3 ms and costs less in all than before the step, where it keeps it for 48."""


def is_copied_before(size_bytes: int, copy_seconds: float, step_seconds: float) -> bool:
    """Whether the training waits for the copy of a state; times are 0 while they are not known."""
    fits_beside = 0 < copy_seconds <= BESIDE_SHARE * step_seconds
    return size_bytes >= LARGE_BYTES and not fits_beside
