"""What the kernel shows of memory and disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pitstop.machine import memory

_STALLS = "some avg10=40.00 avg60=1.00 avg300=0.00 total=9\nfull avg10={} avg60=1.00 total=3\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine with a v2 cgroup for this process."""
    proc, group = tmp_path / "proc", tmp_path / "sys/fs/cgroup/job"
    (proc / "pressure").mkdir(parents=True)
    (proc / "self").mkdir()
    (proc / str(os.getpid())).mkdir()
    group.mkdir(parents=True)
    (proc / str(os.getpid()) / "cgroup").write_text("0::/job\n")
    mount = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    (proc / "self/mountinfo").write_text(mount)
    (proc / "pressure/memory").write_text(_STALLS.format("3.50"))
    (proc / "meminfo").write_text("MemTotal: 100 kB\nMemAvailable: 40 kB\n")
    (proc / "vmstat").write_text("pswpin 5\npswpout 7\npgfault 1\n")
    (group / "memory.current").write_text("1000\n")
    return tmp_path


def test_the_machine_s_stalls_where_the_cgroup_shows_none(root: Path) -> None:
    sample = memory.sample(root, root)
    assert sample.stalled_share == 0.035
    assert sample.available_bytes == 40 << 10
    assert sample.swapped_in_bytes == 5 * os.sysconf("SC_PAGE_SIZE")


def test_the_cgroup_s_own_stalls_count_before_the_machine_s(root: Path) -> None:
    (root / "sys/fs/cgroup/job/memory.pressure").write_text(_STALLS.format("62.00"))
    assert memory.sample(root, root).stalled_share == 0.62


def test_a_kernel_that_shows_nothing(tmp_path: Path) -> None:
    sample = memory.sample(tmp_path / "gone", tmp_path)
    assert (sample.stalled_share, sample.swapped_in_bytes) == (None, None)
    assert sample.disk_free_bytes is None


def test_the_disk_of_the_folder() -> None:
    shown = memory.sample(Path("/")).disk_free_bytes
    state = os.statvfs("/")
    assert shown == pytest.approx(state.f_bavail * state.f_frsize, rel=0.2)
