"""Finding and reading the memory cgroup, from made-up trees of both versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.machine import cgroup
from pitstop.machine.cgroup import MemoryCgroup, MemoryCounters

PID = 4225
V1_MOUNT = "35 31 0:32 {root} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
V2_MOUNT = "31 23 0:28 {root} /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
HYBRID_V2_MOUNT = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
UNLIMITED_V1 = "9223372036854771712"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def machine(root: Path, memberships: str, mountinfo: str) -> None:
    write(root / f"proc/{PID}/cgroup", memberships)
    write(root / "proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda rw\n" + mountinfo)


def v1_files(folder: Path, *, limit: str, kills: int) -> None:
    write(folder / "memory.oom_control", f"oom_kill_disable 0\nunder_oom 0\noom_kill {kills}\n")
    write(folder / "memory.limit_in_bytes", f"{limit}\n")
    write(folder / "memory.usage_in_bytes", "1000\n")
    write(folder / "memory.max_usage_in_bytes", "2000\n")


def v2_files(folder: Path, *, limit: str, kills: int) -> None:
    write(folder / "memory.events", f"low 0\nmax 12\noom 3\noom_kill {kills}\noom_group_kill 0\n")
    write(folder / "memory.max", f"{limit}\n")
    write(folder / "memory.current", "1000\n")
    write(folder / "memory.peak", "2000\n")


def test_v1_group_and_its_counters(tmp_path: Path) -> None:
    machine(tmp_path, "8:pids:/\n4:memory:/jobs/a\n0::/\n", V1_MOUNT.format(root="/"))
    v1_files(tmp_path / "sys/fs/cgroup/memory/jobs/a", limit="5000", kills=2)
    group = cgroup.find(PID, tmp_path)
    assert group is not None
    assert (group.version, group.path) == (1, "/jobs/a")
    assert cgroup.read(group) == MemoryCounters(2, 5000, 1000, 2000)


def test_v2_group_and_its_counters(tmp_path: Path) -> None:
    machine(tmp_path, "0::/user.slice/a b.scope\n", V2_MOUNT.format(root="/"))
    v2_files(tmp_path / "sys/fs/cgroup/user.slice/a b.scope", limit="max", kills=1)
    group = cgroup.find(PID, tmp_path)
    assert group is not None
    assert group.version == 2
    assert cgroup.read(group) == MemoryCounters(1, None, 1000, 2000)


def test_hybrid_machine_reads_memory_from_v1(tmp_path: Path) -> None:
    machine(tmp_path, "4:memory:/a\n0::/\n", HYBRID_V2_MOUNT + V1_MOUNT.format(root="/"))
    v1_files(tmp_path / "sys/fs/cgroup/memory/a", limit="5000", kills=0)
    group = cgroup.find(PID, tmp_path)
    assert group is not None
    assert group.version == 1


def test_container_sees_its_part_at_the_top_of_the_mount(tmp_path: Path) -> None:
    machine(tmp_path, "4:memory:/docker/abc\n", V1_MOUNT.format(root="/docker/abc"))
    v1_files(tmp_path / "sys/fs/cgroup/memory", limit="7000", kills=0)
    group = cgroup.find(PID, tmp_path)
    assert group is not None
    assert group.folder == tmp_path / "sys/fs/cgroup/memory"
    assert group.path == "/docker/abc"


@pytest.mark.parametrize(
    ("own", "parent", "in_force"),
    [("9000", "6000", 6000), ("3000", "6000", 3000), ("max", "6000", 6000), ("max", "max", None)],
)
def test_the_least_limit_of_the_ancestors_is_in_force(
    tmp_path: Path, own: str, parent: str, in_force: int | None
) -> None:
    machine(tmp_path, "0::/a/b\n", V2_MOUNT.format(root="/"))
    v2_files(tmp_path / "sys/fs/cgroup/a", limit=parent, kills=0)
    v2_files(tmp_path / "sys/fs/cgroup/a/b", limit=own, kills=0)
    group = cgroup.find(PID, tmp_path)
    assert group is not None
    assert cgroup.read(group).limit_bytes == in_force


def test_v1_largest_number_means_no_limit(tmp_path: Path) -> None:
    machine(tmp_path, "4:memory:/\n", V1_MOUNT.format(root="/"))
    v1_files(tmp_path / "sys/fs/cgroup/memory", limit=UNLIMITED_V1, kills=0)
    group = cgroup.find(PID, tmp_path)
    assert group is not None
    assert cgroup.read(group).limit_bytes is None


def test_v2_root_has_no_counters_of_its_own(tmp_path: Path) -> None:
    machine(tmp_path, "0::/\n", V2_MOUNT.format(root="/"))
    write(tmp_path / "sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n")
    group = cgroup.find(PID, tmp_path)
    assert group is not None
    assert cgroup.read(group) == MemoryCounters(None, None, None, None)


def test_v2_without_the_memory_controller_is_no_memory_cgroup(tmp_path: Path) -> None:
    machine(tmp_path, "0::/\n", V2_MOUNT.format(root="/"))
    write(tmp_path / "sys/fs/cgroup/cgroup.controllers", "hugetlb\n")
    assert cgroup.find(PID, tmp_path) is None


def test_escaped_mount_points(tmp_path: Path) -> None:
    mount = r"31 23 0:28 / /sys/my\040groups rw - cgroup2 cgroup2 rw" + "\n"
    machine(tmp_path, "0::/a\n", mount)
    v2_files(tmp_path / "sys/my groups/a", limit="max", kills=0)
    assert cgroup.find(PID, tmp_path) is not None


def test_a_process_that_is_gone_has_no_cgroup(tmp_path: Path) -> None:
    assert cgroup.find(PID, tmp_path) is None


def test_a_group_that_is_gone_has_no_counters(tmp_path: Path) -> None:
    gone = MemoryCgroup(1, "/a", tmp_path / "a", tmp_path)
    assert cgroup.read(gone) == MemoryCounters(None, None, None, None)


def test_what_is_left_counts_the_file_cache_as_free(tmp_path: Path) -> None:
    machine(tmp_path, "4:memory:/a\n", V1_MOUNT.format(root="/"))
    folder = tmp_path / "sys/fs/cgroup/memory/a"
    v1_files(folder, limit="5000", kills=0)
    group = cgroup.find(PID, tmp_path)
    assert group is not None
    assert cgroup.left_bytes(group) == 4000
    write(folder / "memory.stat", "active_file 7\ntotal_active_file 300\ntotal_inactive_file 400\n")
    assert cgroup.left_bytes(group) == 4700


@pytest.mark.parametrize(
    ("own", "parent", "left"),
    [("9000", "6000", 5000), ("3000", "6000", 2000), ("500", "max", 0), ("max", "max", None)],
)
def test_the_least_that_is_left_in_the_ancestors(
    tmp_path: Path, own: str, parent: str, left: int | None
) -> None:
    machine(tmp_path, "0::/a/b\n", V2_MOUNT.format(root="/"))
    v2_files(tmp_path / "sys/fs/cgroup/a", limit=parent, kills=0)
    v2_files(tmp_path / "sys/fs/cgroup/a/b", limit=own, kills=0)
    group = cgroup.find(PID, tmp_path)
    assert group is not None
    assert cgroup.left_bytes(group) == left
