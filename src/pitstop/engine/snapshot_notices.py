"""What the user is told of snapshots that are not taken as they should be."""

from __future__ import annotations

from pitstop.events import CheckpointFailed, Notice
from pitstop.snapshot.arena import ArenaPlan


def memory_short(plan: ArenaPlan) -> Notice:
    """Snapshots go through a file."""
    return Notice(
        "snapshot_memory_short",
        f"Snapshots need {plan.size_bytes >> 20} MB of memory, which is not free; "
        "they go through a file in the run folder instead, and are slower.",
        "Give the run more memory, or allow it with --snapshot-memory.",
    )


def failed(step: int, error: OSError) -> CheckpointFailed:
    """A snapshot could not be taken; who asked for this checkpoint waits no longer."""
    return CheckpointFailed(
        step,
        f"No snapshot could be taken: {error.strerror}.",
        "Free memory or disk space; the last checkpoint stands.",
    )


def none_taken(step: int) -> CheckpointFailed:
    """A checkpoint was asked for, and this training has none to give."""
    return CheckpointFailed(
        step, "No snapshot can be taken of this training.", "`pitstop status` tells why."
    )
