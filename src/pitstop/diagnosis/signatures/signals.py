"""Signals and exit codes, as every tool spells them."""

from __future__ import annotations

import signal
from types import MappingProxyType

from pitstop.diagnosis.finding import CauseId

_SHELL_BASE = 128
_MODULO = 256

CAUSE_OF_SIGNAL: MappingProxyType[str, tuple[CauseId, float]] = MappingProxyType(
    {
        "SIGKILL": ("killed_from_outside", 0.6),
        "SIGTERM": ("preempted_or_terminated", 0.75),
        "SIGHUP": ("preempted_or_terminated", 0.8),
        "SIGUSR1": ("preempted_or_terminated", 0.6),
        "SIGUSR2": ("preempted_or_terminated", 0.6),
        "SIGINT": ("user_interrupt", 0.85),
        "SIGQUIT": ("user_interrupt", 0.8),
        "SIGXCPU": ("time_limit", 0.93),
        "SIGXFSZ": ("disk_full", 0.85),
        "SIGSEGV": ("native_crash", 0.85),
        "SIGABRT": ("native_crash", 0.8),
        "SIGBUS": ("native_crash", 0.75),
        "SIGFPE": ("native_crash", 0.85),
        "SIGTRAP": ("native_crash", 0.85),
        "SIGSYS": ("native_crash", 0.85),
        "SIGILL": ("illegal_instruction", 0.93),
    }
)
"""What a signal alone tells; of SIGKILL and SIGTERM not who sent it."""

# NTSTATUS values, see [MS-ERREF] 2.3.1.
_WINDOWS = MappingProxyType(
    {
        0xC0000005: "SIGSEGV",
        0xC00000FD: "SIGSEGV",
        0xC0000409: "SIGABRT",
        0xC0000374: "SIGABRT",
        0xC000001D: "SIGILL",
        0xC000013A: "SIGINT",
        0xC0000094: "SIGFPE",
    }
)
_WORDS = MappingProxyType(
    {
        "killed": "SIGKILL",
        "segmentation fault": "SIGSEGV",
        "aborted": "SIGABRT",
        "abort": "SIGABRT",
        "bus error": "SIGBUS",
        "floating point exception": "SIGFPE",
        "floating-point exception": "SIGFPE",
        "illegal instruction": "SIGILL",
        "illegal hardware instruction": "SIGILL",
        "terminated": "SIGTERM",
        "hangup": "SIGHUP",
        "cpu time limit exceeded": "SIGXCPU",
        "cputime limit exceeded": "SIGXCPU",
        "file size limit exceeded": "SIGXFSZ",
        "filesize limit exceeded": "SIGXFSZ",
        "trace/breakpoint trap": "SIGTRAP",
        "trace/bpt trap": "SIGTRAP",
        "bad system call": "SIGSYS",
        "quit": "SIGQUIT",
        "interrupt": "SIGINT",
        "user defined signal 1": "SIGUSR1",
        "user defined signal 2": "SIGUSR2",
        "access violation": "SIGSEGV",
        "stack overflow": "SIGSEGV",
        "已杀死": "SIGKILL",
        "已终止": "SIGTERM",
        "段错误": "SIGSEGV",
        "getötet": "SIGKILL",
        "processus arrêté": "SIGKILL",
        "убито": "SIGKILL",
        "強制終了": "SIGKILL",
        "죽었음": "SIGKILL",
    }
)
"""Words of shells (strsignal(3), and translations of it) and of faulthandler."""


WORDS = (
    r"[Kk]illed|[Ss]egmentation fault|[Aa]borted|[Aa]bort(?= )|[Bb]us error|[Tt]erminated|Hangup"
    r"|[Ff]loating[ -]point exception|[Ii]llegal (?:hardware )?instruction|Quit|Alarm clock"
    r"|User defined signal [12]"
    r"|CPU ?[Tt]ime limit exceeded|File ?[Ss]ize limit exceeded|Trace/\w+ trap|Bad system call"
    r"|cpu ?time limit exceeded|file ?size limit exceeded|trace/\w+ trap"
    r"|已杀死|已终止|段错误|Getötet|Processus arrêté|Убито|強制終了|죽었음"
)
"""The same as shells print them, as a pattern."""


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
    unsigned = code % (1 << 32)
    if unsigned in _WINDOWS:
        return _WINDOWS[unsigned]
    if code < 0:
        return _by_number(-code)
    if _SHELL_BASE < code < _SHELL_BASE + 32:
        return _by_number(code - _SHELL_BASE)
    return _by_number(_MODULO - code) if _MODULO - 32 < code < _MODULO - 1 else ""


def _by_number(number: int) -> str:
    return signal.Signals(number).name if number in signal.valid_signals() and number < 32 else ""
