"""What the facts of a machine mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.doctor.checks import check, works
from pitstop.doctor.facts import Facts, Frameworks, Scheduler
from pitstop.machine.cgroup import MemoryCounters

GOOD = Facts(
    platform="linux",
    kernel="6.1",
    folder="/runs",
    memory_cgroup=2,
    counters=MemoryCounters(0, 4_000_000_000, 1, 2),
    kernel_log=True,
    all_pids=True,
    stalls=True,
    nvidia_driver=True,
    nvml=True,
    shared_memory_bytes=8_000_000_000,
    disk_kind="ext4",
    disk_free_bytes=50_000_000_000,
    hard_links=True,
    direct_writes=True,
    scheduler=Scheduler("Slurm", "sacct", has_command=True),
    frameworks=Frameworks("python", "3.11", {"tensorflow": "2.21", "keras": "3.15"}, 1),
    limits={"open_files": 65536},
)


def test_a_good_machine_lacks_nothing() -> None:
    found = check(GOOD)
    assert {each.level for each in found} == {"ok"}
    assert not any(each.cost or each.remedy for each in found)
    assert works(found)


@pytest.mark.parametrize(
    ("name", "lack"),
    [
        ("training", {"frameworks": Frameworks("python", problem="no module")}),
        ("memory cgroup", {"memory_cgroup": None, "counters": None}),
        ("memory cgroup", {"counters": MemoryCounters(None, None, 1, 2)}),
        ("kernel log", {"kernel_log": False}),
        ("kernel log", {"all_pids": False}),
        ("stalls (PSI)", {"stalls": False}),
        ("GPU", {"nvml": False}),
        ("/dev/shm", {"shared_memory_bytes": 64 << 20}),
        ("disk", {"disk_free_bytes": 5_000_000}),
        ("disk", {"disk_kind": "nfs4"}),
        ("disk", {"hard_links": False}),
        ("limits", {"limits": {"open_files": 256}}),
        ("scheduler", {"scheduler": Scheduler("Slurm", "sacct", has_command=False)}),
    ],
)
def test_each_lack_has_a_cost_and_a_remedy(name: str, lack: dict[str, object]) -> None:
    found = check(replace(GOOD, **lack))  # type: ignore[arg-type]
    [less] = [each for each in found if each.level != "ok"]
    assert less.name == name
    assert less.level == "less"
    assert less.cost
    assert less.remedy
    assert works(found)


def test_only_another_system_cannot_work() -> None:
    assert not works(check(replace(GOOD, platform="win32")))


def test_a_machine_without_a_gpu_lacks_none() -> None:
    found = check(replace(GOOD, nvidia_driver=False, nvml=False))
    assert {each.level for each in found} == {"ok"}
