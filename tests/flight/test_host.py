"""The machine and the cgroups, from made-up trees of both versions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pitstop.flight.host import HostReader

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
        "memory.peak": "350000\n",
        "memory.swap.current": "7000\n",
        "memory.stat": "anon 1\nactive_file 10000\ninactive_file 20000\n",
        "memory.events": "low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\n",
        "memory.pressure": "some avg10=50.00 total=1\nfull avg10=25.00 total=1\n",
        "cpu.stat": "usage_usec 5\nthrottled_usec 1500000\n",
        "pids.current": "12\n",
        "pids.max": "max\n",
    }.items():
        write(group / name, text)
    return group


def test_the_machine(root: Path) -> None:
    found = HostReader(root).host()
    assert (found.total_bytes, found.available_bytes) == (800 << 10, 500 << 10)
    assert found.left_bytes == found.available_bytes
    assert (found.swap_total_bytes, found.swap_free_bytes) == (20 << 10, 5 << 10)
    assert found.oom_kills == 3


def test_a_cgroup_of_version_2(root: Path) -> None:
    v2(root)
    reader = HostReader(root)
    reader.follow(PID)
    found = reader.cgroup()
    assert found is not None
    assert (found.version, found.usage_bytes, found.limit_bytes) == (2, 300_000, 400_000)
    assert (found.cache_bytes, found.swap_bytes, found.peak_bytes) == (30_000, 7000, 350_000)
    assert (found.oom_kills, found.limit_hits) == (1, 12)
    assert (found.pids, found.pids_limit) == (12, None)
    assert found.throttled_seconds == 1.5
    assert reader.host().left_bytes == 130_000


def test_a_cgroup_of_version_1(root: Path) -> None:
    lines = "5:pids:/b\n4:memory:/a\n3:cpu,cpuacct:/c\n"
    write(root / f"proc/{PID}/cgroup", lines)
    mounts = "".join(
        f"3{i} 31 0:3{i} / /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}\n"
        for i, name in enumerate(("memory", "pids", "cpu"))
    )
    write(root / "proc/self/mountinfo", mounts)
    top = root / "sys/fs/cgroup"
    write(top / "memory/a/memory.usage_in_bytes", "1000\n")
    write(top / "memory/a/memory.limit_in_bytes", "4000\n")
    write(top / "memory/a/memory.memsw.usage_in_bytes", "1500\n")
    write(top / "memory/a/memory.failcnt", "6\n")
    write(top / "memory/a/memory.stat", "total_active_file 100\ntotal_inactive_file 200\n")
    write(top / "pids/b/pids.current", "5\n")
    write(top / "pids/b/pids.max", "50\n")
    write(top / "cpu/c/cpu.stat", "nr_throttled 1\nthrottled_time 2000000000\n")
    reader = HostReader(root)
    reader.follow(PID)
    found = reader.cgroup()
    assert found is not None
    assert (found.version, found.usage_bytes, found.limit_bytes) == (1, 1000, 4000)
    assert (found.swap_bytes, found.cache_bytes, found.limit_hits) == (500, 300, 6)
    assert (found.pids, found.pids_limit, found.throttled_seconds) == (5, 50, 2.0)


def test_stalls_are_of_our_cgroup_where_it_shows_them(root: Path) -> None:
    write(root / "proc/pressure/memory", "some avg10=10.00 total=1\nfull avg10=5.00 total=1\n")
    write(root / "proc/pressure/cpu", "some avg10=3.00 total=1\n")
    reader = HostReader(root)
    assert (reader.pressure().memory_some, reader.pressure().memory_full) == (0.1, 0.05)
    v2(root)
    reader.follow(PID)
    found = reader.pressure()
    assert (found.memory_some, found.memory_full, found.cpu_some) == (0.5, 0.25, 0.03)
    assert found.io_some is None


def test_nothing_to_read_is_nothing_known(tmp_path: Path) -> None:
    reader = HostReader(tmp_path)
    reader.follow(PID)
    assert reader.cgroup() is None
    assert reader.host().left_bytes is None
    assert reader.pressure().memory_full is None


def test_this_machine() -> None:
    reader = HostReader()
    reader.follow(os.getpid())
    found = reader.host()
    assert found.total_bytes is not None
    assert found.available_bytes is not None
    assert 0 < found.available_bytes < found.total_bytes
