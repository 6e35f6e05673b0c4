"""What the facts mean: what can be observed, what is lost where it cannot.  Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pitstop.doctor.facts import Facts

Level = Literal["ok", "less", "fails"]

_SMALL_SHARED_BYTES = 512 << 20
_FEW_FILES = 4096
_SLOW_CLOCK_NS = 500.0
_LITTLE_DISK_BYTES = 1 << 30
_NETWORK_DISKS = ("nfs", "cifs", "smb", "fuse", "9p", "lustre", "gpfs", "ceph", "beegfs")


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    `level`: "ok"; "less": something is lost, the `cost`; "fails": Pitstop cannot work here.
    """

    name: str
    level: Level
    seen: str
    cost: str = ""
    remedy: str = ""


def check(facts: Facts) -> list[Check]:
    """All checks, in the order to read them in."""
    return [look(facts) for look in _CHECKS]


def works(checks: list[Check]) -> bool:
    return all(each.level != "fails" for each in checks)


def _system(facts: Facts) -> Check:
    seen = f"{facts.platform}, kernel {facts.kernel}"
    if facts.platform == "linux":
        return Check("system", "ok", seen)
    return Check("system", "fails", seen, "Pitstop needs Linux", "Use Linux, WSL 2 or a container.")


def _frameworks(facts: Facts) -> Check:
    found = facts.frameworks
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    seen = f"{found.executable}: Python {found.python or '?'}, {versions or 'no TensorFlow'}"
    if not found.problem:
        return Check("training", "ok", f"{seen}; the hooks fit")
    cost = f"no snapshots and no exact resume ({found.problem}); stop and why work"
    remedy = "Keras 3.10 to 3.15 on TensorFlow 2.20 or 2.21; --python names another Python."
    return Check("training", "less", seen, cost, remedy)


def _memory(facts: Facts) -> Check:
    counters = facts.counters
    if facts.memory_cgroup is None or counters is None:
        cost = "a kill for memory is told from other kills by the kernel log only"
        remedy = "Mount the cgroup file system into the container (read-only is enough)."
        return Check("memory cgroup", "less", "not visible", cost, remedy)
    limit = counters.limit_bytes
    seen = f"v{facts.memory_cgroup}, " + (f"limit {_size(limit)}" if limit else "no limit")
    if counters.oom_kills is None:
        cost = "its kills for memory are not counted"
        return Check("memory cgroup", "less", seen, cost, "Linux 4.13 or newer counts them.")
    return Check("memory cgroup", "ok", seen)


def _kernel_log(facts: Facts) -> Check:
    if facts.kernel_log and facts.all_pids:
        return Check("kernel log", "ok", "readable")
    cost = "who was killed for memory, GPU errors (Xid) and crashes are not read from it"
    if facts.kernel_log:
        seen = "readable, but this is a pid namespace: its process numbers are others"
        return Check("kernel log", "less", seen, "less certain for kills", "Run with --pid=host.")
    remedy = "sysctl kernel.dmesg_restrict=0, or the capability CAP_SYSLOG and /dev/kmsg."
    return Check("kernel log", "less", "not readable", cost, remedy)


def _stalls(facts: Facts) -> Check:
    if facts.stalls:
        return Check("stalls (PSI)", "ok", "there")
    cost = "that processes wait for memory is noticed later"
    return Check(
        "stalls (PSI)", "less", "not there", cost, "Boot with psi=1 (Linux 4.20 or newer)."
    )


def _gpu(facts: Facts) -> Check:
    if not facts.nvidia_driver:
        return Check("GPU", "ok", f"no NVIDIA driver; TensorFlow sees {facts.frameworks.gpus}")
    if facts.nvml:
        return Check("GPU", "ok", f"NVML; TensorFlow sees {facts.frameworks.gpus}")
    cost = "memory, temperature, throttling and errors of GPUs are not recorded"
    return Check("GPU", "less", "no NVML", cost, "pip install 'pitstop[gpu]'")


def _shared_memory(facts: Facts) -> Check:
    size = facts.shared_memory_bytes
    if size is None or size >= _SMALL_SHARED_BYTES:
        return Check("/dev/shm", "ok", "not there" if size is None else _size(size))
    cost = "data workers may die of SIGBUS when it is full; snapshots do not use it"
    return Check("/dev/shm", "less", _size(size), cost, "docker run --shm-size=8g")


def _disk(facts: Facts) -> Check:
    seen = f"{facts.disk_kind or 'unknown'}, {_size(facts.disk_free_bytes)} free at {facts.folder}"
    if facts.disk_free_bytes < _LITTLE_DISK_BYTES:
        cost = "there may be no room for checkpoints"
        return Check("disk", "less", seen, cost, "Name another folder with --run-dir.")
    if facts.disk_kind.startswith(_NETWORK_DISKS):
        cost = "saving is as slow as the network, and its lock may not hold across machines"
        return Check("disk", "less", seen, cost, "A local --run-dir, or a mirror (docs/remote.md).")
    if not facts.hard_links:
        cost = "every checkpoint is written in full"
        return Check(
            "disk", "less", f"{seen}, no hard links", cost, "ext4, xfs or btrfs have them."
        )
    direct = "" if facts.direct_writes else ", no O_DIRECT (large saves go through the cache)"
    return Check("disk", "ok", seen + direct)


def _memfd(facts: Facts) -> Check:
    if facts.memfd:
        return Check("snapshots", "ok", "memory without a name (memfd)")
    cost = "snapshots are kept in a file of the temporary folder"
    return Check("snapshots", "less", "no memfd", cost, "Linux 3.17 or newer.")


def _stacks(facts: Facts) -> Check:
    scope = facts.ptrace_scope
    seen = "Python's own stacks" + (", py-spy" if facts.py_spy else "")
    if facts.py_spy and not scope:
        return Check("stacks", "ok", seen)
    cost = "stacks of native code of a hanging training need py-spy by hand"
    limited = f" (kernel.yama.ptrace_scope is {scope}: only root may)" if scope else ""
    return Check("stacks", "less", seen + limited, cost, "pip install py-spy")


def _limits(facts: Facts) -> Check:
    files = facts.limits.get("open_files")
    known = [f"{name} {value}" for name, value in facts.limits.items() if value is not None]
    seen = ", ".join(known) or "none"
    if files is not None and files < _FEW_FILES:
        cost = "many data files or workers may meet it"
        return Check("limits", "less", seen, cost, "ulimit -n 65536")
    return Check("limits", "ok", seen)


def _scheduler(facts: Facts) -> Check:
    found = facts.scheduler
    if found is None:
        return Check("scheduler", "ok", "none")
    if not found.record_command or found.has_command:
        return Check("scheduler", "ok", found.name)
    seen = f"{found.name}, no `{found.record_command}`"
    cost = "its own record of the job's end is not read"
    return Check("scheduler", "less", seen, cost, f"Put `{found.record_command}` on the PATH.")


def _clock(facts: Facts) -> Check:
    seen = f"{facts.clock_source or 'unknown'}, {facts.clock_nanoseconds:.0f} ns to read"
    if facts.clock_nanoseconds < _SLOW_CLOCK_NS:
        return Check("clock", "ok", seen)
    cost = "every step costs some microseconds more"
    return Check("clock", "less", seen, cost, "The clock source `tsc`, where the machine has it.")


_CHECKS: tuple[Callable[[Facts], Check], ...] = (
    _system,
    _frameworks,
    _memory,
    _kernel_log,
    _stalls,
    _gpu,
    _shared_memory,
    _disk,
    _memfd,
    _stacks,
    _limits,
    _scheduler,
    _clock,
)


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e9:,.1f} GB" if size_bytes >= 1e9 else f"{size_bytes / 1e6:,.0f} MB"
