"""How much memory this process may still take."""

from __future__ import annotations

import os
from pathlib import Path

from pitstop.machine import cgroup

_UNKNOWN_BYTES = 1 << 62


def available_bytes(root: Path = Path("/")) -> int:
    """Memory free on the machine, or left in this process' cgroup if that is less.

    A very large number where neither can be read (not on Linux).
    """
    return min(_free_on_machine(root), _left_in_cgroup(root))


def _free_on_machine(root: Path) -> int:
    try:
        text = (root / "proc/meminfo").read_text()
    except OSError:
        return _UNKNOWN_BYTES
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return int(fields["MemAvailable"].split()[0]) << 10


def _left_in_cgroup(root: Path) -> int:
    group = cgroup.find(os.getpid(), root)
    left_bytes = cgroup.left_bytes(group) if group is not None else None
    return _UNKNOWN_BYTES if left_bytes is None else left_bytes
