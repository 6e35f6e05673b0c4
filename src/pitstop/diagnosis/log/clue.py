"""A clue: something in a log that may explain its end, with its place and its weight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from pitstop.diagnosis.exception import Raised
from pitstop.diagnosis.finding import CauseId
from pitstop.diagnosis.signatures.signals import CAUSE_OF_SIGNAL
from pitstop.diagnosis.signatures.tables import ADVICE, Weight

LIKELY = 0.5
"""What is less sure is a doubt about another cause, not a cause."""
T = TypeVar("T")

_ENDED_BY_ITSELF = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGKILL", "SIGTRAP")

_SIGNAL_WORDS: dict[str, str] = {
    "SIGBUS": "The process touched memory whose file was cut short, or shared memory that is full",
    "killed_from_outside": "The process was killed; who did it, and why, is not in the log",
    "preempted_or_terminated": "Somebody asked the process to end",
    "user_interrupt": "It was interrupted",
    "time_limit": "The processor time limit ended the process",
    "native_crash": "The process crashed in native code",
    "illegal_instruction": "A library was built for another processor",
    "disk_full": "A file grew over the limit on file sizes",
}
_SIGNAL_ADVICE: dict[str, tuple[str, ...]] = {
    "SIGSEGV": (
        ADVICE["look_for_segfault"],
        ADVICE["name_the_line"],
    ),
    "SIGBUS": (
        ADVICE["check_mapped_files"],
        ADVICE["name_the_line"],
    ),
    "killed_from_outside": (
        ADVICE["look_for_memory_kill"],
        ADVICE["ask_who_killed"],
    ),
    "preempted_or_terminated": (ADVICE["ask_scheduler"],),
    "native_crash": (ADVICE["name_the_line"],),
    "illegal_instruction": (ADVICE["compare_cpu_flags"],),
    "time_limit": (ADVICE["more_processor_time"],),
    "disk_full": (ADVICE["larger_files"],),
}


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
    if name not in CAUSE_OF_SIGNAL:
        return replace(base, cause=None) if name else None
    cause, confidence = CAUSE_OF_SIGNAL[name]
    return replace(
        base,
        cause=cause,
        confidence=confidence,
        signal=name,
        headline=f"{_words_of(_SIGNAL_WORDS, cause, name) or 'The process was ended'} ({name}).",
        advice=_words_of(_SIGNAL_ADVICE, cause, name) or (),
    )


def _words_of(table: Mapping[str, T], cause: CauseId, signal: str) -> T | None:
    return table.get(signal, table.get(cause))


def is_own_fault(clue: Clue) -> bool:
    """A signal that a process brings upon itself, or that nobody sends to tidy up."""
    return clue.signal in _ENDED_BY_ITSELF
