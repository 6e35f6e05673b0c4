"""A clue: something in a log that may explain its end, with its place and its weight."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pitstop.diagnosis.exception import Raised
from pitstop.diagnosis.finding import CauseId
from pitstop.diagnosis.signatures.signals import SIGNALS
from pitstop.diagnosis.signatures.tables import Weight
from pitstop.diagnosis.wording import ADVICE

LIKELY = 0.5
"""What is less sure is a doubt about another cause, not a cause."""

_ENDED_BY_ITSELF = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGKILL", "SIGTRAP")


@dataclass(frozen=True)
class Clue:
    """Something that may explain the end.

    Attributes:
        cause: the cause that it points to; None of a failure without any word.
        number: of its line, from 1; 0 of what is known from elsewhere.
        group: the writer, see `Line.group`.
        quote: the line as it stands there.
        is_victim: it tells that something else failed.
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


def of_signal(name: str, base: Clue) -> Clue | None:
    """The clue, with what the signal says; None without a signal."""
    known = SIGNALS.get(name)
    if known is None:
        return replace(base, cause=None) if name else None
    return replace(
        base,
        cause=known.cause,
        confidence=known.confidence,
        signal=name,
        headline=f"{known.headline} ({name}).",
        advice=tuple(ADVICE[each] for each in known.advice),
    )


def is_own_fault(clue: Clue) -> bool:
    """A signal that a process brings upon itself, or that nobody sends to tidy up."""
    return clue.signal in _ENDED_BY_ITSELF
