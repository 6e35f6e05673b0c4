"""How exactly a resume from a cut repeats the uninterrupted run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Exactness:
    """How exact a resume is, and why not more; see docs/exactness.md.

    Attributes:
        level: "exact", "exact_by_replay", or "not_exact".
    """

    level: str
    reason: str = ""


EXACT = Exactness("exact")
