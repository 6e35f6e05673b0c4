"""Whether an input is saved by its iterator's own state or found again by replay.  Pure.

A pipeline that shuffles through a large buffer has the whole buffer in its
state: 1.5 s and 123 MB for 100,000 records of 1 KB, at every snapshot.  To draw
the same batches again costs nothing when a snapshot is taken, and at most the
time that reading them took when a run is resumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

_SNAPSHOT_EVERY_SECONDS = 60.0
_SNAPSHOTS_SHARE = 0.5
_LARGE_SHARE = 0.25


class InputMode(StrEnum):
    """What the user asks for."""

    AUTO = "auto"
    NATIVE = "native"
    REPLAY = "replay"


@dataclass(frozen=True)
class Pipeline:
    """What is known of an input when its iterator's state can be saved.

    Attributes:
        repeatable: a replay gives the same batches.
        renewed: each epoch has an iterator of its own, which bounds a replay.
    """

    repeatable: bool
    renewed: bool


@dataclass(frozen=True)
class CaptureCost:
    """What saving an iterator's state cost the training.

    Attributes:
        seconds: for the state alone.
        size_bytes: of the state.
        snapshot_seconds: for the whole snapshot.
    """

    seconds: float
    size_bytes: int
    snapshot_seconds: float


def costs_too_much(cost: CaptureCost, pipeline: Pipeline, overhead: float) -> bool:
    """Whether replay is the better way from now on.

    It is when the state is a large part of a snapshot's cost, and so slow to
    take that snapshots would be more than a minute apart to stay in the budget.

    Args:
        cost: of the last snapshot.
        pipeline: what is read.
        overhead: share of the training time that Pitstop may cost.
    """
    affordable_seconds = _SNAPSHOT_EVERY_SECONDS * overhead * _SNAPSHOTS_SHARE
    is_large = cost.seconds > _LARGE_SHARE * cost.snapshot_seconds
    is_slow = cost.seconds > affordable_seconds
    return pipeline.repeatable and pipeline.renewed and is_large and is_slow


def reason(cost: CaptureCost) -> str:
    """Why the input is replayed, for the user."""
    return (
        f"the input's buffers are too large to save ({cost.seconds:.1f} s and "
        f"{cost.size_bytes / 1e6:.0f} MB each time)"
    )
