"""Whether a cut is copied beside the next steps or before them.

Beside: the step goes on at once, and TensorFlow gives every variable it updates
a new buffer while the old one is held: a third copy of the state, for a while.
Before: the trainer waits while several threads copy at the speed of memory.

For large states before is right twice over.  Memory stays bounded by the two
places for snapshots, and it is faster: the page faults of the fresh buffers
cost several times the copy (0.8 GB: 90 to 650 ms against 40).
"""

from __future__ import annotations

LARGE_BYTES = 64 << 20


def is_copied_before(size_bytes: int) -> bool:
    """Whether the training waits for the copy of a state of this size."""
    return size_bytes >= LARGE_BYTES
