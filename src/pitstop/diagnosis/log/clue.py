"""A clue: something in a log that may explain its end, with its place and its weight."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.diagnosis.exception import Raised
from pitstop.diagnosis.finding import CauseId
from pitstop.diagnosis.signatures import Weight

LIKELY = 0.5
"""What is less sure is a doubt about another cause, not a cause."""


@dataclass(frozen=True)
class Clue:
    """Something that may explain the end.

    Attributes:
        cause: the cause that it points to; None of a failure without any word.
        confidence: how sure the cause is.
        weight: against other clues.
        number: of its line, from 1; 0 of what is known from elsewhere.
        group: the writer, see `Line.group`.
        quote: the line as it stands there.
        headline: one sentence.
        advice: what to do.
        survived: training went on after it.
        is_victim: it tells that something else failed.
        signal: the signal that it tells of.
        raised: the exception.
        headed: with the traceback above it.
        in_thread: the exception ended a thread, or a process beside the first.
        is_last_word: native code said it before it gave up, and it names a cause.
    """

    cause: CauseId | None
    confidence: float
    weight: Weight
    number: int
    group: str
    quote: str
    headline: str
    advice: tuple[str, ...] = ()
    survived: bool = False
    is_victim: bool = False
    signal: str = ""
    raised: Raised | None = None
    headed: bool = False
    in_thread: bool = False
    is_last_word: bool = False
