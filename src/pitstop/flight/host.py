"""The memory of the machine and of the training's cgroup, and its tasks.

Sources: proc(5); the kernel's Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst.
"""

from __future__ import annotations

from pathlib import Path

from pitstop.flight.sample import CgroupSample, HostSample
from pitstop.machine import cgroup
from pitstop.machine.cgroup import MemoryCgroup
from pitstop.machine.kernel_file import read_number, read_text, size_bytes, table


class HostReader:
    """Reads machine and cgroup; remembers where the trainer's cgroups are."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._memory: MemoryCgroup | None = None
        self._pids: Path | None = None

    def follow(self, pid: int) -> None:
        """Reads the cgroups of this process from now on; call it again now and then."""
        self._memory = cgroup.find(pid, self._root)
        self._pids = cgroup.folder_of(pid, "pids", self._root)

    def host(self) -> HostSample:
        memory = table(read_text(self._root / "proc/meminfo"), ":")
        available = size_bytes(memory, "MemAvailable")
        left = cgroup.left_bytes(self._memory) if self._memory else None
        return HostSample(
            total_bytes=size_bytes(memory, "MemTotal"),
            available_bytes=available,
            left_bytes=min((each for each in (available, left) if each is not None), default=None),
        )

    def cgroup(self) -> CgroupSample | None:
        group = self._memory
        if group is None:
            return None
        counters = cgroup.read(group)
        return CgroupSample(
            version=group.version,
            usage_bytes=counters.usage_bytes,
            limit_bytes=counters.limit_bytes,
            cache_bytes=cgroup.cache_bytes(group),
            pids=read_number(self._pids / "pids.current") if self._pids else None,
            pids_limit=read_number(self._pids / "pids.max") if self._pids else None,
        )
