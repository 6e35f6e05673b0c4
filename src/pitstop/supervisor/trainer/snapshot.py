"""A snapshot that the trainer has taken."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Snapshot:
    """A whole snapshot in memory.

    Attributes:
        sequence: its number, larger than those of all snapshots before it.
        durable: the trainer asks for it on disk at once.
    """

    sequence: int
    step: int
    epoch: int
    reason: str
    durable: bool
