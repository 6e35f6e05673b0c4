"""The machine and the cgroups, from made-up trees of both versions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pitstop.flight.sampler import HostReader

PID = 77


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine without cgroups."""
    meminfo = "MemTotal: 800 kB\nMemAvailable: 500 kB\nSwapTotal: 20 kB\nSwapFree: 5 kB\n"
    write(tmp_path / "proc/meminfo", meminfo)
    write(tmp_path / "proc/vmstat", "oom_kill 3\npgfault 9\n")
    write(tmp_path / "proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda rw\n")
    return tmp_path


def v2(root: Path) -> Path:
    write(root / f"proc/{PID}/cgroup", "0::/job\n")
    write(root / "proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    group = root / "sys/fs/cgroup/job"
    for name, text in {
        "memory.current": "300000\n",
        "memory.max": "400000\n",
        "memory.stat": "anon 1\nactive_file 10000\ninactive_file 20000\n",
        "memory.events": "low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\n",
        "pids.current": "12\n",
        "pids.max": "max\n",
    }.items():
        write(group / name, text)
    return group


def test_the_machine(root: Path) -> None:
    found = HostReader(root).host()
    assert (found.total_bytes, found.available_bytes) == (800 << 10, 500 << 10)
    assert found.left_bytes == found.available_bytes


def test_a_cgroup_of_version_2(root: Path) -> None:
    v2(root)
    reader = HostReader(root)
    reader.follow(PID)
    found = reader.cgroup()
    assert found is not None
    assert (found.version, found.usage_bytes, found.limit_bytes) == (2, 300_000, 400_000)
    assert found.cache_bytes == 30_000
    assert (found.pids, found.pids_limit) == (12, None)
    assert reader.host().left_bytes == 130_000


def test_a_cgroup_of_version_1(root: Path) -> None:
    lines = "5:pids:/b\n4:memory:/a\n"
    write(root / f"proc/{PID}/cgroup", lines)
    mounts = "".join(
        f"3{i} 31 0:3{i} / /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}\n"
        for i, name in enumerate(("memory", "pids"))
    )
    write(root / "proc/self/mountinfo", mounts)
    top = root / "sys/fs/cgroup"
    write(top / "memory/a/memory.usage_in_bytes", "1000\n")
    write(top / "memory/a/memory.limit_in_bytes", "4000\n")
    write(top / "memory/a/memory.stat", "total_active_file 100\ntotal_inactive_file 200\n")
    write(top / "pids/b/pids.current", "5\n")
    write(top / "pids/b/pids.max", "50\n")
    reader = HostReader(root)
    reader.follow(PID)
    found = reader.cgroup()
    assert found is not None
    assert (found.version, found.usage_bytes, found.limit_bytes) == (1, 1000, 4000)
    assert found.cache_bytes == 300
    assert (found.pids, found.pids_limit) == (5, 50)


def test_nothing_to_read_is_nothing_known(tmp_path: Path) -> None:
    reader = HostReader(tmp_path)
    reader.follow(PID)
    assert reader.cgroup() is None
    assert reader.host().left_bytes is None


def test_this_machine() -> None:
    reader = HostReader()
    reader.follow(os.getpid())
    found = reader.host()
    assert found.total_bytes is not None
    assert found.available_bytes is not None
    assert 0 < found.available_bytes < found.total_bytes
