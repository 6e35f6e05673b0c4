"""The steps of a run, merged from the records of its attempts.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from pitstop.steps import StepRecord


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
        """The last step there is, 0 when there is none."""
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
