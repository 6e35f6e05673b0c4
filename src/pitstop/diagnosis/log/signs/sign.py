"""One kind of line, and what it tells of the end."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from pitstop.diagnosis.finding import CauseId


class Weight(enum.IntEnum):
    """Which of two clues explains an end: the higher one."""

    HINT = 1
    """It may have to do with it."""
    STATUS = 2
    """How a process ended, not why."""
    GENERAL = 3
    """An exception of the script, or a victim of somebody else's end."""
    SPECIAL = 4
    """An error that names its cause."""
    VERDICT = 5
    """Whoever ended it says so."""


@dataclass(frozen=True)
class Sign:
    """A line to be looked for.

    The pattern is searched in all lines without their decoration.  Where it has a
    group `signal` (a name or a number) or `code` (an exit code), these decide the cause.

    Attributes:
        pattern: with `^` and `$` for line ends.
        cause: None where the groups of the pattern decide.
        headline: one sentence, with the groups of the pattern to be filled in.
        advice: what to do.
        weight: against other clues.
        confidence: how sure the cause is.
        source: who said it.
        survives: training that goes on afterwards proves nothing against it.
        is_victim: it tells that something else failed.
    """

    pattern: re.Pattern[str]
    cause: CauseId | None
    headline: str
    advice: tuple[str, ...] = ()
    weight: Weight = Weight.VERDICT
    confidence: float = 0.95
    source: str = "output"
    survives: bool = False
    is_victim: bool = False


def line(*patterns: str) -> re.Pattern[str]:
    """Any of the patterns, each within one line."""
    return re.compile("|".join(patterns), re.MULTILINE)
