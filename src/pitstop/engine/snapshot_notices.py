"""What the user is told of snapshots that are not taken, or not loaded, as they should be."""

from __future__ import annotations

import traceback

from pitstop.events import CheckpointFailed, InstrumentationUnavailable, Notice
from pitstop.snapshot.arena import ArenaPlan


def memory_short(plan: ArenaPlan) -> Notice:
    return Notice(
        "snapshot_memory_short",
        f"Snapshots need {plan.size_bytes >> 20} MB of memory, which is not free; "
        "they go through a file in the run folder instead, and are slower.",
        "Give the run more memory, or allow it with --snapshot-memory.",
    )


def short_trainings(begun: int) -> Notice:
    return Notice(
        "short_trainings",
        f"The script trains often, and shortly: from training {begun} on, only those ends are "
        "saved that are worth the time it takes. A resume trains the others again.",
        "A loop in pitstop.start is saved as one, with the trainings in it.",
    )


def failed(step: int, error: Exception) -> CheckpointFailed:
    """A snapshot could not be taken; who asked for this checkpoint waits no longer."""
    words, remedy = repr(error), "The last checkpoint stands."
    if isinstance(error, OSError | MemoryError):
        words = getattr(error, "strerror", "memory is full") or words
        remedy = "Free memory or disk space; the last checkpoint stands."
    if isinstance(error, TimeoutError):
        remedy = "See whether the disk answers; the last checkpoint stands."
    return CheckpointFailed(step, f"No snapshot could be taken: {words}.", remedy)


def broken(error: Exception) -> InstrumentationUnavailable:
    trace = "".join(traceback.format_exception(error)[-3:])
    return InstrumentationUnavailable(
        f"Pitstop failed ({error!r}); training goes on, and no further snapshot is taken.",
        f"Please report this as a bug of Pitstop: {trace}",
    )
