"""When this process began."""

from __future__ import annotations

import os
import time
from pathlib import Path

_START_TIME_FIELD = 19
"""Index of `starttime` behind the command name in /proc/PID/stat (proc(5))."""


def start_time_ticks() -> int:
    """When this process began, in clock ticks since the boot."""
    stat = Path("/proc/self/stat").read_bytes()
    # The command name may hold anything, but its closing bracket is the last one.
    return int(stat.rpartition(b")")[2].split()[_START_TIME_FIELD])


def age_ns() -> int:
    """How long this process has run, in nanoseconds; to the next clock tick."""
    begun_ns = start_time_ticks() * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return max(0, time.clock_gettime_ns(time.CLOCK_BOOTTIME) - begun_ns)
