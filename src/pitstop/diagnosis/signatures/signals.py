"""Signals and exit codes, as every tool spells them."""

import re
import signal
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from pitstop.diagnosis.finding import CauseId
from pitstop.diagnosis.wording import read_table
from pitstop.exit_codes import EXIT_SIGNALLED
from pitstop.record import Frozen

_MODULO = 256
_UNSIGNED = 1 << 32


class Signal(Frozen):
    """What is known of a signal; `signals.toml` says what the fields mean."""

    cause: CauseId
    confidence: float
    words: list[str]
    headline: str
    advice: list[str] = field(default_factory=list)
    did: str = ""
    asks_to_end: bool = False
    advice_when_sent: str = ""


SIGNALS: Mapping[str, Signal] = {
    name: Signal(**fields)
    for name, fields in read_table(Path(__file__).with_name("signals.toml")).items()
}

# NTSTATUS values, see [MS-ERREF] 2.3.1.
_WINDOWS = {
    0xC0000005: "SIGSEGV",
    0xC00000FD: "SIGSEGV",
    0xC0000409: "SIGABRT",
    0xC0000374: "SIGABRT",
    0xC000001D: "SIGILL",
    0xC000013A: "SIGINT",
    0xC0000094: "SIGFPE",
}
_WORDS = {word: name for name, each in SIGNALS.items() for word in each.words}

WORDS = f"(?i:{'|'.join(sorted(map(re.escape, _WORDS), key=len, reverse=True))})"
"""The words as shells print them, as a pattern."""


def is_of_windows(code: int) -> bool:
    """Whether it is an exit code by which Windows tells of a crash."""
    return code % _UNSIGNED in _WINDOWS


def signal_of(text: str) -> str:
    """The name of a signal given by name, number or the words of a shell; else empty."""
    word = text.strip().strip(":'\"").lower()
    if word in _WORDS:
        return _WORDS[word]
    if word.lstrip("-").isdigit():
        return _by_number(abs(int(word)))
    name = f"SIG{word.upper().removeprefix('SIG')}"
    return name if name in signal.Signals.__members__ else ""


def signal_of_code(code: int) -> str:
    """The signal that an exit code tells of, as shells, Python and Windows do; else empty."""
    if is_of_windows(code):
        return _WINDOWS[code % _UNSIGNED]
    if code < 0:
        return _by_number(-code)
    if EXIT_SIGNALLED < code < EXIT_SIGNALLED + 32:
        return _by_number(code - EXIT_SIGNALLED)
    return _by_number(_MODULO - code) if _MODULO - 32 < code < _MODULO - 1 else ""


def _by_number(number: int) -> str:
    return signal.Signals(number).name if number in signal.valid_signals() and number < 32 else ""
