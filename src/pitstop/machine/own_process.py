"""When this process began, and what the kernel says of another."""

from __future__ import annotations

import os
import time
from pathlib import Path

_START_TIME_FIELD = 19
"""Index of `starttime` behind the command name in /proc/PID/stat (proc(5))."""

_ENDED = (b"Z", b"X")
_SUSPENDED = (b"T", b"t")

_SIGNAL_MASKS = ("SigBlk:", "SigIgn:", "SigCgt:")

_INITIAL_PID_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h."""


def sees_all_pids(root: Path = Path("/")) -> bool:
    """Whether the kernel's process numbers are the ones that this process sees."""
    link = root / "proc/self/ns/pid"
    return link.is_symlink() and str(link.readlink()) == _INITIAL_PID_NAMESPACE


def start_time_ticks() -> int:
    """When this process began, in clock ticks since the boot."""
    return _start_of(_fields(Path("/proc/self/stat").read_bytes()))


def is_there(pid: int, began_ticks: int | None = None) -> bool:
    """Whether the process that began then is there now, and not another one with its number.

    One that only waits for its parent to hear of its end is gone.
    """
    fields = _fields_of(pid, began_ticks)
    return bool(fields) and fields[0] not in _ENDED


def is_suspended(pid: int, began_ticks: int | None = None) -> bool:
    """Whether a process, the one that began then, is stopped: by Ctrl-Z, SIGSTOP or a debugger."""
    fields = _fields_of(pid, began_ticks)
    return bool(fields) and fields[0] in _SUSPENDED


def heeds(pid: int, number: int) -> bool:
    """Whether a signal does more than its default to a process: it is caught, blocked or ignored.

    What is sent to a process that is gone does nothing either.
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return True
    masks = (line.split()[1] for line in lines if line.startswith(_SIGNAL_MASKS))
    return any(int(mask, 16) >> (number - 1) & 1 for mask in masks)


def _fields_of(pid: int, began_ticks: int | None) -> list[bytes]:
    """Empty where the process that began then is gone."""
    try:
        fields = _fields(Path(f"/proc/{pid}/stat").read_bytes())
    except (FileNotFoundError, ProcessLookupError):
        return []
    return fields if began_ticks in (None, _start_of(fields)) else []


def _start_of(fields: list[bytes]) -> int:
    return int(fields[_START_TIME_FIELD])


def _fields(stat: bytes) -> list[bytes]:
    # The command name may hold anything, but its closing bracket is the last one.
    return stat.rpartition(b")")[2].split()


def age_ns() -> int:
    """How long this process has run, in nanoseconds; to the next clock tick."""
    begun_ns = start_time_ticks() * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return max(0, time.clock_gettime_ns(time.CLOCK_BOOTTIME) - begun_ns)
