"""What the facts mean: what can be observed, what is lost where it cannot.  Pure."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pitstop.diagnosis.phrases import size
from pitstop.doctor.facts import Facts
from pitstop.record import Frozen

Level = Literal["ok", "less", "fails"]

_LACKS = tomllib.loads(Path(__file__).with_name("lacks.toml").read_text(encoding="utf-8"))

_SMALL_SHARED_BYTES = 512 << 20
_FEW_FILES = 4096
_LITTLE_DISK_BYTES = 1 << 30
_NETWORK_DISKS = ("nfs", "cifs", "smb", "fuse", "9p", "lustre", "gpfs", "ceph", "beegfs")


class Check(Frozen):
    """`level`: "ok"; "less": something is lost, the `cost`; "fails": Pitstop cannot work here."""

    name: str
    level: Level
    seen: str
    cost: str = ""
    remedy: str = ""


def check(facts: Facts) -> list[Check]:
    return [look(facts) for look in _CHECKS]


def works(checks: list[Check]) -> bool:
    return all(each.level != "fails" for each in checks)


def _lacks(name: str, seen: str, level: Level = "less", **values: str) -> Check:
    row = _LACKS[name]
    cost, remedy = row["cost"].format(**values), row["remedy"].format(**values)
    return Check(row["check"], level, seen, cost, remedy)


def _system(facts: Facts) -> Check:
    seen = f"{facts.platform}, kernel {facts.kernel}"
    is_linux = facts.platform == "linux"
    return Check("system", "ok", seen) if is_linux else _lacks("linux", seen, "fails")


def _frameworks(facts: Facts) -> Check:
    found = facts.frameworks
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    seen = f"{found.executable}: Python {found.python or '?'}, {versions or 'no TensorFlow'}"
    if found.problem:
        return _lacks("hooks", seen, problem=found.problem)
    return Check("training", "ok", f"{seen}; supported")


def _memory(facts: Facts) -> Check:
    counters = facts.counters
    if facts.memory_cgroup is None or counters is None:
        return _lacks("cgroup", "not visible")
    limit = counters.limit_bytes
    seen = f"v{facts.memory_cgroup}, " + (f"limit {size(limit)}" if limit else "no limit")
    if counters.oom_kills is None:
        return _lacks("oom_counter", seen)
    return Check("memory cgroup", "ok", seen)


def _kernel_log(facts: Facts) -> Check:
    if not facts.kernel_log:
        return _lacks("kernel_log", "not readable")
    if not facts.all_pids:
        seen = "readable, but process numbers differ in this pid namespace"
        return _lacks("all_pids", seen)
    return Check("kernel log", "ok", "readable")


def _stalls(facts: Facts) -> Check:
    there = Check("stalls (PSI)", "ok", "there")
    return there if facts.stalls else _lacks("stalls", "not there")


def _gpu(facts: Facts) -> Check:
    if facts.nvidia_driver and not facts.nvml:
        return _lacks("nvml", "no NVML")
    driver = "NVML" if facts.nvidia_driver else "no NVIDIA driver"
    return Check("GPU", "ok", f"{driver}; TensorFlow sees {facts.frameworks.gpus}")


def _shared_memory(facts: Facts) -> Check:
    size_bytes = facts.shared_memory_bytes
    if size_bytes is not None and size_bytes < _SMALL_SHARED_BYTES:
        return _lacks("shared_memory", size(size_bytes))
    return Check("/dev/shm", "ok", "not there" if size_bytes is None else size(size_bytes))


def _disk(facts: Facts) -> Check:
    seen = f"{facts.disk_kind or 'unknown'}, {size(facts.disk_free_bytes)} free at {facts.folder}"
    if facts.disk_free_bytes < _LITTLE_DISK_BYTES:
        return _lacks("disk_space", seen)
    if facts.disk_kind.startswith(_NETWORK_DISKS):
        return _lacks("local_disk", seen)
    if not facts.hard_links:
        return _lacks("hard_links", f"{seen}, no hard links")
    direct = "" if facts.direct_writes else ", no O_DIRECT (large saves use the page cache)"
    return Check("disk", "ok", seen + direct)


def _limits(facts: Facts) -> Check:
    files = facts.limits.get("open_files")
    known = [f"{name} {value}" for name, value in facts.limits.items() if value is not None]
    seen = ", ".join(known) or "none"
    if files is not None and files < _FEW_FILES:
        return _lacks("open_files", seen)
    return Check("limits", "ok", seen)


def _scheduler(facts: Facts) -> Check:
    found = facts.scheduler
    if found is None or not found.record_command or found.has_command:
        return Check("scheduler", "ok", found.name if found else "none")
    command = found.record_command
    return _lacks("job_record", f"{found.name}, no `{command}`", command=command)


_CHECKS: tuple[Callable[[Facts], Check], ...] = (
    _system,
    _frameworks,
    _memory,
    _kernel_log,
    _stalls,
    _gpu,
    _shared_memory,
    _disk,
    _limits,
    _scheduler,
)
