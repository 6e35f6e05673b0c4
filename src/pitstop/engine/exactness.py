"""How exactly a resume from a cut repeats the uninterrupted run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Exactness:
    """How exact a resume is: "exact", "exact_by_replay" or "not_exact"; and why not more."""

    level: str
    reason: str = ""


EXACT = Exactness("exact")
