"""How exactly a resume from a cut repeats the uninterrupted run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Exactness:
    """How exact a resume is, and why not more; see docs/exactness.md.

    Attributes:
        level: "exact", "exact_by_replay", or "not_exact".
        reason: one sentence for the user; may be empty when it is exact.
    """

    level: str
    reason: str = ""


EXACT = Exactness("exact")
