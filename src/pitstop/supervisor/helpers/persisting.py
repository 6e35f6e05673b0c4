"""When the persister is asked to make the newest snapshot durable.  Pure."""

from __future__ import annotations

import dataclasses
import math

from pitstop.link.messages import SnapshotReport
from pitstop.record import record
from pitstop.supervisor.records.history import NO_LOSSES, Losses, optimal_interval_seconds

FIRST_SECONDS = 5.0
LEAST_INTERVAL_SECONDS = 10.0
COST_FACTOR = 50
"""The pause between two checkpoints, in durations of a checkpoint: 2 % of the disk's time."""


def interval_seconds(took_seconds: float, mean_seconds: float) -> float:
    """The time from one checkpoint to the next.

    By the cost of the last one alone while the run has never lost its memory (`mean_seconds` is
    infinite); else the optimum for that rate of losses, if it is shorter.
    """
    by_cost = max(LEAST_INTERVAL_SECONDS, COST_FACTOR * took_seconds)
    if math.isinf(mean_seconds):
        return by_cost
    optimum = optimal_interval_seconds(took_seconds, mean_seconds)
    return min(max(optimum, LEAST_INTERVAL_SECONDS), by_cost)


@record
class Persisting:
    """What is known about snapshots and checkpoints of one attempt.

    The persister always takes the newest whole snapshot, so there is nothing to choose but the
    moment, and one request at a time is enough.

    Attributes:
        ready_seconds: the earliest time for the next one that is not urgent.
        urgent: reason of the newest snapshot that must be durable, or empty.
        busy: a request is under way.
        interval_seconds: the time between checkpoints at present, 0 before the first.
    """

    ready_seconds: float
    newest: SnapshotReport | None = None
    urgent: str = ""
    saved_sequence: int = 0
    busy: bool = False
    interval_seconds: float = 0.0
    losses: Losses = NO_LOSSES
    started_seconds: float = 0.0

    @classmethod
    def start(cls, now_seconds: float, losses: Losses = NO_LOSSES) -> Persisting:
        """An attempt begins; its first checkpoint comes early."""
        ready_seconds = now_seconds + FIRST_SECONDS
        return cls(ready_seconds, losses=losses, started_seconds=now_seconds)

    def taken(self, snapshot: SnapshotReport) -> Persisting:
        urgent = snapshot.reason if snapshot.durable else self.urgent
        return dataclasses.replace(self, newest=snapshot, urgent=urgent)

    def hurried(self, reason: str) -> Persisting:
        """What is in memory only is written now, or as soon as there is any."""
        return dataclasses.replace(self, urgent=self.urgent or reason)

    def due(self, now_seconds: float) -> str:
        """The reason to ask for a checkpoint now, or empty."""
        if self.busy or not self.unsaved:
            return ""
        if self.urgent:
            return self.urgent
        return "cadence" if now_seconds >= self.ready_seconds else ""

    @property
    def unsaved(self) -> bool:
        """Whether the newest snapshot is not durable yet."""
        return self.newest is not None and self.newest.sequence > self.saved_sequence

    def asked(self) -> Persisting:
        """The persister was asked; what becomes urgent from now on needs another."""
        return dataclasses.replace(self, busy=True, urgent="")

    def answered(self, saved_sequence: int, now_seconds: float, took_seconds: float) -> Persisting:
        """The persister is done; `saved_sequence` is 0 when it had nothing to do."""
        saved_sequence = max(self.saved_sequence, saved_sequence)
        mean_seconds = self.losses.mean_seconds(now_seconds - self.started_seconds)
        interval = interval_seconds(took_seconds, mean_seconds)
        behind = self.newest is not None and self.newest.sequence > saved_sequence
        return dataclasses.replace(
            self,
            busy=False,
            urgent=self.urgent if behind else "",
            saved_sequence=saved_sequence,
            interval_seconds=interval,
            ready_seconds=now_seconds + interval,
        )

    def failed(self, now_seconds: float) -> Persisting:
        """The disk refused; the next try is not before the usual time."""
        return self.answered(0, now_seconds, 0.0)
