"""One row of the tables: what an exception or a line looks like, and what it means."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from pitstop.diagnosis.exception import Raised
from pitstop.diagnosis.finding import CauseId
from pitstop.diagnosis.signatures.place import places_of


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
class Signature:
    """What an exception or a line looks like, and what it means.

    An exception fits by its `message`, or by its class or package alone.

    Attributes:
        cause: None where the groups of `line` decide (`signal`, or an exit `code`).
        headline: the start of the summary.
        advice: what to do.
        name: by which code asks for it; mostly empty.
        message: pattern that the message must contain; None for any message.
        classes: with `message` or `places`: the class or a base must be one of these.
        alone: classes that tell enough without a message.
        packages: packages whose classes tell enough without a message.
        places: one of these the traceback must go through; empty for anywhere.
        line: pattern of whole lines, for those that no exception stands behind.
        weight: of the line, against other clues.
        limit: the process limit that belongs to it, see `TrainerExited.limits`.
        confidence: how sure the match is.
        survives: training that goes on after the line proves nothing against it.
        is_victim: it tells that something else failed, which may be printed too.
    """

    cause: CauseId | None
    headline: str
    advice: tuple[str, ...] = ()
    name: str = ""
    message: re.Pattern[str] | None = None
    classes: frozenset[str] = frozenset()
    alone: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    line: re.Pattern[str] | None = None
    weight: Weight = Weight.VERDICT
    limit: str = ""
    confidence: float = 0.95
    survives: bool = False
    is_victim: bool = False

    def matches(self, raised: Raised, message: str) -> bool:
        """Whether the exception looks like this; `message` is what counts of its own."""
        if self.alone & raised.names or raised.module.partition(".")[0] in self.packages:
            return True
        if self.message is None and not self.places:
            return False
        if self.classes and not self.classes & raised.names:
            return False
        if self.message is not None and not self.message.search(message):
            return False
        return not self.places or bool(self.places & places_of(raised))
