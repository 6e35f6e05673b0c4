"""How much memory this process may still take."""

from __future__ import annotations

import os
from pathlib import Path

from pitstop.machine import cgroup

_UNKNOWN_BYTES = 1 << 62


def available_bytes() -> int:
    """Memory free on the machine, or left in this process' cgroup if that is less.

    A very large number where neither can be read (not on Linux).
    """
    return min(_free_on_machine(), _left_in_cgroup())


def _free_on_machine() -> int:
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return _UNKNOWN_BYTES
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return int(fields["MemAvailable"].split()[0]) << 10


def _left_in_cgroup() -> int:
    group = cgroup.find(os.getpid())
    if group is None:
        return _UNKNOWN_BYTES
    counters = cgroup.read(group)
    if counters.limit_bytes is None or counters.usage_bytes is None:
        return _UNKNOWN_BYTES
    return max(0, counters.limit_bytes - counters.usage_bytes)
