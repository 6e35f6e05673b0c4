"""What one run left behind, as far as a comparison needs it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from pitstop.events import EnvironmentChanged, JsonValue
from pitstop.steps import StepRecord
from pitstop.store.manifest import Manifest, TensorEntry


@dataclass(frozen=True)
class Disagreement:
    """A step that was computed twice with different results."""

    step: int
    first: StepRecord
    again: StepRecord


@dataclass(frozen=True)
class Trace:
    """What a run computed at each step; the last computation counts.

    Attributes:
        recomputed_steps: computations that repeated an earlier one.
    """

    records: Mapping[int, StepRecord]
    recomputed_steps: int = 0
    disagreements: tuple[Disagreement, ...] = ()

    @property
    def last_step(self) -> int:
        return max(self.records, default=0)

    def epoch_ends(self) -> tuple[int, ...]:
        """The last step of every epoch, the last step of the run included."""
        records = list(self.records.values())
        ends = [one.step for one, other in pairwise(records) if _epoch(one) != _epoch(other)]
        return tuple(ends) + tuple(each.step for each in records[-1:])


def merge(attempts: Iterable[Iterable[StepRecord]]) -> Trace:
    """One trace out of the records of all attempts, the oldest first."""
    records: dict[int, StepRecord] = {}
    disagreements = []
    computed = 0
    for record in (record for attempt in attempts for record in attempt):
        computed += 1
        before = records.get(record.step, record)
        if not before.same_bits(record):
            disagreements.append(Disagreement(record.step, before, record))
        records[record.step] = record
    ordered = dict(sorted(records.items()))
    return Trace(ordered, computed - len(records), tuple(disagreements))


def _epoch(record: StepRecord) -> tuple[int, int]:
    return record.fit, record.epoch


@dataclass(frozen=True)
class Place:
    """Where in the training a checkpoint was taken; the same place holds the same state."""

    step: int
    fit: int
    epoch: int
    step_in_epoch: int
    stage: str
    milestone: str


@dataclass(frozen=True)
class Saved:
    """A checkpoint.

    Attributes:
        tensors: the variables, by name; their checksums are of the present format.
        facts: the rest of the state: digest by what it is.
        read_ahead: Python code feeds the training, and may have drawn from the
            random streams ahead of the step.
    """

    place: Place
    path: Path
    manifest: Manifest
    tensors: Mapping[str, TensorEntry]
    facts: Mapping[str, str]
    read_ahead: bool


@dataclass(frozen=True)
class Resume:
    """Where an attempt went on, and how exactly (see `events.Restored`)."""

    step: int
    lost_steps: int
    level: str
    reason: str


@dataclass(frozen=True)
class RunRecord:
    """One run.

    Attributes:
        environment: the fingerprint and the versions of its last attempt.
        environment_changes: what changed between its attempts.
        unreadable: checkpoints that were left out, and why.
    """

    name: str
    completed: bool
    trace: Trace
    saved: Mapping[Place, Saved] = field(default_factory=dict)
    resumes: tuple[Resume, ...] = ()
    environment: Mapping[str, JsonValue] = field(default_factory=dict)
    environment_changes: tuple[EnvironmentChanged, ...] = ()
    unreadable: tuple[str, ...] = ()
