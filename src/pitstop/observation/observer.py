"""Watches a trainer from outside, and says in the end what the machine saw."""

import contextlib
import platform
import resource
import time
from pathlib import Path
from typing import Any

from pitstop.events import JsonValue
from pitstop.machine import cgroup, memory
from pitstop.machine.cgroup import MemoryCgroup
from pitstop.machine.kernel_file import read_number
from pitstop.machine.own_process import sees_all_pids
from pitstop.observation import kernel_log
from pitstop.observation.kernel_log import KernelLog, KernelMessage

# Journals store these texts, and rules compare them: keep them unchanged.
NO_OOM_COUNTER = "the kernel's count of out-of-memory kills (its memory cgroup cannot be read)"
NO_KERNEL_LOG = "the kernel log (/dev/kmsg cannot be read)"
OTHER_PID_NUMBERS = "the kernel's process numbers (this is a pid namespace)"

_SHARED_MEMORY = Path("/dev/shm")
_FAULTS_ARE_LOGGED = "proc/sys/debug/exception-trace"
_LIMITS = {
    "cpu_seconds": resource.RLIMIT_CPU,
    "address_space_bytes": resource.RLIMIT_AS,
    "data_bytes": resource.RLIMIT_DATA,
    "processes": resource.RLIMIT_NPROC,
    "open_files": resource.RLIMIT_NOFILE,
    "file_size_bytes": resource.RLIMIT_FSIZE,
}


class Observer:
    def __init__(self, trainer_pid: int, root: Path = Path("/")) -> None:
        self._root = root
        self._pids = frozenset({trainer_pid})
        self._log: KernelLog | None = None
        with contextlib.suppress(OSError):
            self._log = KernelLog(root / "dev/kmsg")
        self._opened_seconds = time.monotonic()
        self._group: MemoryCgroup | None = None
        self._kills_before: int | None = None
        self._limits: dict[str, JsonValue] = {}
        self.sample(trainer_pid)

    @property
    def cgroup(self) -> str:
        return self._group.path if self._group else ""

    def sample(self, pid: int) -> None:
        """Reads again what a script may change; `pid` trains, under a wrapper another one."""
        self._pids |= {pid}
        self._limits = read_limits(pid, self._root) or self._limits
        group = cgroup.find(pid, self._root)
        if group and group != self._group:
            self._group, self._kills_before = group, cgroup.read(group).oom_kills

    def end(
        self, usage: resource.struct_rusage | None, workers: frozenset[int] = frozenset()
    ) -> dict[str, Any]:
        """What was seen, by field of `TrainerExited`; `workers`: children that died before."""
        self._pids |= workers
        counters = cgroup.read(self._group) if self._group else None
        logged = self._kernel_log()
        crashes = kernel_log.faults(logged) if logged is not None and self._logs_faults() else None
        space = memory.read_space(self._root / _SHARED_MEMORY.relative_to("/"))
        now, before = counters.oom_kills if counters else None, self._kills_before
        kills = None if now is None or before is None else now - before
        lines = None if logged is None else [each.text for each in logged]
        missing = {
            NO_OOM_COUNTER: kills is None,
            NO_KERNEL_LOG: lines is None,
            OTHER_PID_NUMBERS: lines is not None and not sees_all_pids(self._root),
        }
        return {
            "max_rss_bytes": usage.ru_maxrss * 1024 if usage else None,
            "cpu_seconds": usage.ru_utime + usage.ru_stime if usage else None,
            "oom_kills": kills,
            "memory_limit_bytes": counters.limit_bytes if counters else None,
            "kernel_lines": lines and kernel_log.select(lines, self._pids, self.cgroup),
            "limits": self._limits | ({"dev_shm": space} if space else {}),
            "missing": [name for name, is_missing in missing.items() if is_missing],
            "memory_watchers": memory.running(self._root / "proc"),
            "kernel_faults": None if crashes is None else [each.text for each in crashes],
            "kernel_fault_ages_seconds": None if crashes is None else self._least_ages(crashes),
        }

    def _kernel_log(self) -> list[KernelMessage] | None:
        if self._log is None:
            return None
        messages = self._log.read()
        self._log.close()
        self._log = None
        return messages

    def _logs_faults(self) -> bool:
        # Other processors have other words for a crash, and more of them.
        return platform.machine() == "x86_64" and read_number(self._root / _FAULTS_ARE_LOGGED) == 1

    def _least_ages(self, crashes: list[KernelMessage]) -> list[float] | None:
        now = time.monotonic()
        corrected = abs(now - time.clock_gettime(time.CLOCK_MONOTONIC_RAW))
        return kernel_log.least_ages(crashes, self._opened_seconds, now, corrected)


def read_limits(pid: int, root: Path = Path("/")) -> dict[str, JsonValue] | None:
    """The resource limits of a process, `{"soft": N, "hard": N}` with None for "unlimited".

    "processes" is the lower one of its user's limit and its cgroup's.
    """
    try:
        pairs = {name: _pair(resource.prlimit(pid, number)) for name, number in _LIMITS.items()}
    except (ProcessLookupError, PermissionError):
        return None
    most, user = _most_pids(pid, root), pairs["processes"]["soft"]
    if most is not None and (user is None or most < user):
        pairs["processes"] = {"soft": most, "hard": most}
    return dict(pairs)


def _most_pids(pid: int, root: Path) -> int | None:
    folder = cgroup.folder_of(pid, "pids", root)
    folders = (folder, *folder.parents) if folder else ()
    found = (read_number(each / "pids.max") for each in folders)
    return min((number for number in found if number is not None), default=None)


def _pair(limit: tuple[int, int]) -> dict[str, int | None]:
    soft, hard = (None if value == resource.RLIM_INFINITY else value for value in limit)
    return {"soft": soft, "hard": hard}
