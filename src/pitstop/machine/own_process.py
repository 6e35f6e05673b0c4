"""When this process began, and what the kernel says of another."""

from __future__ import annotations

import os
import time
from pathlib import Path

_START_TIME_FIELD = 19
"""Index of `starttime` behind the command name in /proc/PID/stat (proc(5))."""


_INITIAL_PID_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h."""


def sees_all_pids(root: Path = Path("/")) -> bool:
    """Whether the kernel's process numbers are the ones that this process sees."""
    link = root / "proc/self/ns/pid"
    return link.is_symlink() and str(link.readlink()) == _INITIAL_PID_NAMESPACE


def start_time_ticks() -> int:
    """When this process began, in clock ticks since the boot."""
    return start_of(Path("/proc/self/stat").read_bytes())


def start_of(stat: bytes) -> int:
    """When a process began, in clock ticks since the boot, from its /proc/PID/stat."""
    return int(_fields(stat)[_START_TIME_FIELD])


def has_ended(stat: bytes) -> bool:
    """Whether a process only waits for its parent to hear of its end, from the same file."""
    return _fields(stat)[0] in (b"Z", b"X")


def _fields(stat: bytes) -> list[bytes]:
    # The command name may hold anything, but its closing bracket is the last one.
    return stat.rpartition(b")")[2].split()


def age_ns() -> int:
    """How long this process has run, in nanoseconds; to the next clock tick."""
    begun_ns = start_time_ticks() * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return max(0, time.clock_gettime_ns(time.CLOCK_BOOTTIME) - begun_ns)
