"""When the persister is asked to make the newest snapshot durable.  Pure."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

FIRST_SECONDS = 5.0
LEAST_INTERVAL_SECONDS = 10.0
COST_FACTOR = 50
"""A checkpoint at most every so many times its own duration: 2 % of the disk's time."""


@dataclass(frozen=True)
class Snapshot:
    """A whole snapshot in memory.

    Attributes:
        sequence: its number, counted from 1 in an attempt.
        durable: the trainer asks for it on disk at once.
    """

    sequence: int
    step: int
    epoch: int
    reason: str
    durable: bool


@dataclass(frozen=True)
class Persisting:
    """What is known about snapshots and checkpoints of one attempt.

    The persister always takes the newest whole snapshot, so there is nothing
    to choose but the moment, and one request at a time is enough.

    Attributes:
        ready_seconds: the earliest time for the next one that is not urgent.
        urgent: reason of the newest snapshot that must be durable, or empty.
        saved_sequence: newest snapshot that is durable.
        busy: a request is under way.
    """

    ready_seconds: float
    newest: Snapshot | None = None
    urgent: str = ""
    saved_sequence: int = 0
    busy: bool = False

    @classmethod
    def start(cls, now_seconds: float) -> Persisting:
        """An attempt begins; its first checkpoint comes early."""
        return cls(ready_seconds=now_seconds + FIRST_SECONDS)

    def taken(self, snapshot: Snapshot) -> Persisting:
        """A snapshot is whole."""
        urgent = snapshot.reason if snapshot.durable else self.urgent
        return dataclasses.replace(self, newest=snapshot, urgent=urgent)

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
        behind = self.newest is not None and self.newest.sequence > saved_sequence
        return dataclasses.replace(
            self,
            busy=False,
            urgent=self.urgent if behind else "",
            saved_sequence=saved_sequence,
            ready_seconds=now_seconds + max(LEAST_INTERVAL_SECONDS, COST_FACTOR * took_seconds),
        )

    def failed(self, now_seconds: float) -> Persisting:
        """The disk refused; the next try is not before the usual time."""
        return self.answered(0, now_seconds, 0.0)
