"""What memory this process takes, what it may still take, and how short memory and disk are.

Sources: the kernel's Documentation/accounting/psi.rst for the stalls, and
Documentation/admin-guide/cgroup-v2.rst for those of one cgroup; proc(5) for /proc/vmstat.
"""

import os
import re
from pathlib import Path

from pitstop.machine import cgroup
from pitstop.machine.kernel_file import read_text, size_bytes, table
from pitstop.record import Frozen

_UNKNOWN_BYTES = 1 << 62
_FULL_AVERAGE = re.compile(r"^full avg10=([0-9.]+)", re.MULTILINE)
_SWAPPED_IN = re.compile(r"^pswpin (\d+)$", re.MULTILINE)
WATCHERS = frozenset(
    {"earlyoom", "systemd-oomd", "oomd", "nohang", "bustd", "low-memory-monitor", "psi-monitor"}
)
_NAME_CHARACTERS = 15  # what the kernel keeps of a name


def available_bytes(root: Path = Path("/")) -> int:
    """Memory free on the machine, or left in this process' cgroup if that is less."""
    free = size_bytes(table(read_text(root / "proc/meminfo"), ":"), "MemAvailable")
    group = cgroup.find(os.getpid(), root)
    left = cgroup.left_bytes(group) if group is not None else None
    return min((each for each in (free, left) if each is not None), default=_UNKNOWN_BYTES)


class MemoryPressure(Frozen):
    """What was read at one moment; None where the kernel does not show it."""

    available_bytes: int
    stalled_share: float | None  # of the last 10 s, in which all of our cgroup or machine waited
    swapped_in_bytes: int | None
    disk_free_bytes: int | None


def sample(folder: Path, root: Path = Path("/")) -> MemoryPressure:
    swapped = _SWAPPED_IN.search(read_text(root / "proc/vmstat"))
    return MemoryPressure(
        available_bytes(root),
        _stalled_share(root),
        int(swapped[1]) * os.sysconf("SC_PAGE_SIZE") if swapped else None,
        (read_space(folder) or {}).get("free_bytes"),
    )


def _stalled_share(root: Path) -> float | None:
    group = cgroup.find(os.getpid(), root)
    own = group.folder / "memory.pressure" if group is not None and group.version == 2 else None
    text = (read_text(own) if own is not None else "") or read_text(root / "proc/pressure/memory")
    found = _FULL_AVERAGE.search(text)
    return float(found[1]) / 100 if found else None


def read_space(folder: Path) -> dict[str, int] | None:
    try:
        state = os.statvfs(folder)
    except OSError:
        return None
    unit_bytes = state.f_frsize
    return {"size_bytes": state.f_blocks * unit_bytes, "free_bytes": state.f_bavail * unit_bytes}


def running(proc: Path = Path("/proc")) -> list[str]:
    short = {name[:_NAME_CHARACTERS]: name for name in WATCHERS}
    names = {short.get(read_text(folder / "comm").strip()) for folder in proc.glob("[0-9]*")}
    return sorted(name for name in names if name)


_FORGET_PEAK = b"5"


def forget_peak(proc: Path = Path("/proc/self")) -> None:
    """Resets the peak; where that is not allowed, it counts from the start of the process."""
    try:
        fd = os.open(proc / "clear_refs", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.write(fd, _FORGET_PEAK)
    finally:
        os.close(fd)


def peak_bytes(proc: Path = Path("/proc/self")) -> int:
    """Resident memory at its peak; 0 where the kernel does not show it."""
    return _bytes("VmHWM", proc)


def present_bytes(proc: Path = Path("/proc/self")) -> int:
    return _bytes("VmRSS", proc)


def mapped_files_bytes(proc: Path = Path("/proc/self")) -> int:
    """Resident pages of files, libraries most of all; the kernel can read them again."""
    return _bytes("RssFile", proc)


def _bytes(name: str, proc: Path) -> int:
    return size_bytes(table(read_text(proc / "status"), ":"), name) or 0
