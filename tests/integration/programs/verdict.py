"""What it means that a resumed program printed what it printed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

USAGE_ERROR = 2
NOT_EXACT = "not_exact"


class Verdict(Enum):
    """How a resumed program compares with the undisturbed one."""

    IDENTICAL = "identical"
    HONEST = "honest"
    OPEN = "open"
    MISSED = "missed"
    WRONG = "wrong"
    BROKEN = "broken"


FAILURES = frozenset({Verdict.WRONG, Verdict.BROKEN})


@dataclass(frozen=True)
class Ended:
    """One process that ran a program.

    Attributes:
        code: how it ended.
        output: everything that it printed.
    """

    code: int
    output: str

    @property
    def finals(self) -> tuple[str, ...]:
        """The results that it printed."""
        return tuple(re.findall(r"^FINAL .*$", self.output, re.MULTILINE))


@dataclass(frozen=True)
class Level:
    """How exact a run says it is, and what of it is missing."""

    level: str = ""
    missing: str = ""


def judge(
    truths: Sequence[Ended],
    interrupted: Sequence[Ended],
    resumed: Ended,
    level: Level,
    *,
    reproducible: bool,
) -> Verdict:
    """The verdict on one program.

    Args:
        truths: undisturbed programs, any of which the resumed one may equal.
        interrupted: the attempts before the last.
        resumed: the last attempt.
        level: of the last attempt.
        reproducible: the undisturbed program prints the same twice.
    """
    modest = level.level == NOT_EXACT and bool(level.missing)
    if any(each.code == 0 for each in interrupted):
        return Verdict.HONEST if modest else Verdict.MISSED
    if any(resumed.code == each.code and resumed.finals == each.finals for each in truths):
        return Verdict.IDENTICAL
    if resumed.code == USAGE_ERROR and "Traceback" not in resumed.output:
        return Verdict.HONEST
    if resumed.code != 0:
        return Verdict.BROKEN
    if modest:
        return Verdict.HONEST
    return Verdict.WRONG if reproducible else Verdict.OPEN
