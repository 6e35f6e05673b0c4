"""How much memory a saved state may take while it is loaded.  Pure."""

from __future__ import annotations

_UNKNOWN_SHARE = 8


def image_memory_bytes(available_bytes: int, peak_bytes: int | None, limit_bytes: int) -> int:
    """The most bytes of a state that is loaded into memory; a larger one goes to a file.

    It is loaded before the trainer has taken its memory, and must not take
    what the trainer needs: a run that fits once must fit again.

    Args:
        available_bytes: memory that is free before the trainer begins.
        peak_bytes: the most that the last trainer took, None when that is not known.
        limit_bytes: the most the user allows for snapshots, 0 for no word on it.
    """
    if limit_bytes:
        return limit_bytes
    if peak_bytes is None:
        return available_bytes // _UNKNOWN_SHARE
    return max(0, available_bytes - peak_bytes)
