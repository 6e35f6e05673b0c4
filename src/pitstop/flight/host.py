"""The machine as a whole, and the cgroup of the training.

Sources: proc(5); the kernel's Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst,
and Documentation/accounting/psi.rst.
"""

from __future__ import annotations

import re
from pathlib import Path

from pitstop.flight.sample import CgroupSample, HostSample, PressureSample
from pitstop.machine import cgroup
from pitstop.machine.cgroup import MemoryCgroup
from pitstop.machine.kernel_file import read_number, read_text, table

_AVERAGE = re.compile(r"^(some|full) avg10=([0-9.]+)", re.MULTILINE)


class HostReader:
    """Reads machine and cgroup; remembers where the trainer's cgroups are."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._memory: MemoryCgroup | None = None
        self._pids: Path | None = None
        self._cpu: Path | None = None

    def follow(self, pid: int) -> None:
        """Reads the cgroups of this process from now on; call it again now and then."""
        self._memory = cgroup.find(pid, self._root)
        self._pids = cgroup.folder_of(pid, "pids", self._root)
        self._cpu = cgroup.folder_of(pid, "cpu", self._root)

    def host(self) -> HostSample:
        memory = table(read_text(self._root / "proc/meminfo"), ":")
        available = _kibibytes(memory, "MemAvailable")
        left = cgroup.left_bytes(self._memory) if self._memory else None
        kills = table(read_text(self._root / "proc/vmstat")).get("oom_kill")
        return HostSample(
            total_bytes=_kibibytes(memory, "MemTotal"),
            available_bytes=available,
            left_bytes=min((each for each in (available, left) if each is not None), default=None),
            swap_total_bytes=_kibibytes(memory, "SwapTotal"),
            swap_free_bytes=_kibibytes(memory, "SwapFree"),
            oom_kills=int(kills) if kills else None,
        )

    def cgroup(self) -> CgroupSample | None:
        """The cgroup of the training now; None where it cannot be found."""
        group = self._memory
        if group is None:
            return None
        counters, swap = cgroup.read(group), self._swap_bytes(group)
        events = table(read_text(group.folder / "memory.events"))
        hits = read_number(group.folder / "memory.failcnt")
        return CgroupSample(
            version=group.version,
            usage_bytes=counters.usage_bytes,
            limit_bytes=counters.limit_bytes,
            peak_bytes=counters.peak_bytes,
            cache_bytes=cgroup.cache_bytes(group),
            swap_bytes=swap,
            oom_kills=counters.oom_kills,
            limit_hits=int(events["max"]) if "max" in events else hits,
            pids=read_number(self._pids / "pids.current") if self._pids else None,
            pids_limit=read_number(self._pids / "pids.max") if self._pids else None,
            throttled_seconds=self._throttled_seconds(),
        )

    def pressure(self) -> PressureSample:
        """Stalls of our cgroup where the kernel shows them, of the machine else."""
        cpu, memory, io = (self._stalls(name) for name in ("cpu", "memory", "io"))
        return PressureSample(
            cpu.get("some"), memory.get("some"), memory.get("full"), io.get("some"), io.get("full")
        )

    def _stalls(self, name: str) -> dict[str, float]:
        own = self._memory if self._memory and self._memory.version == 2 else None
        text = read_text(own.folder / f"{name}.pressure") if own else ""
        text = text or read_text(self._root / "proc/pressure" / name)
        return {kind: float(share) / 100 for kind, share in _AVERAGE.findall(text)}

    def _swap_bytes(self, group: MemoryCgroup) -> int | None:
        if group.version == 2:
            return read_number(group.folder / "memory.swap.current")
        both = read_number(group.folder / "memory.memsw.usage_in_bytes")
        memory = read_number(group.folder / "memory.usage_in_bytes")
        return None if both is None or memory is None else max(0, both - memory)

    def _throttled_seconds(self) -> float | None:
        stat = table(read_text(self._cpu / "cpu.stat")) if self._cpu else {}
        if "throttled_usec" in stat:
            return int(stat["throttled_usec"]) / 1e6
        return int(stat["throttled_time"]) / 1e9 if "throttled_time" in stat else None


def _kibibytes(fields: dict[str, str], name: str) -> int | None:
    return int(fields[name].split()[0]) << 10 if name in fields else None
