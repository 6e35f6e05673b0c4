"""Memory that is left, on the machine or in the cgroup, whichever is less."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pitstop.machine import memory

MEMINFO = "MemTotal:       16000 kB\nMemFree:  1000 kB\nMemAvailable:    9000 kB\n"
MOUNT = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"


def machine(root: Path, limit: str) -> None:
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/mountinfo": MOUNT,
        f"proc/{os.getpid()}/cgroup": "0::/job\n",
        "sys/fs/cgroup/job/memory.max": f"{limit}\n",
        "sys/fs/cgroup/job/memory.current": "1000\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.mark.parametrize(
    ("limit", "available_bytes"),
    [("5000", 4000), ("max", 9000 << 10), (str(1 << 40), 9000 << 10)],
)
def test_the_tighter_of_machine_and_cgroup(
    tmp_path: Path, limit: str, available_bytes: int
) -> None:
    machine(tmp_path, limit)
    assert memory.available_bytes(tmp_path) == available_bytes


def test_an_unknown_machine_sets_no_bound(tmp_path: Path) -> None:
    assert memory.available_bytes(tmp_path) >= 1 << 60


def test_something_is_left_on_this_machine() -> None:
    total_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < memory.available_bytes() <= total_bytes


_SIZE = 96 << 20


def test_a_peak_is_seen_and_forgotten() -> None:
    before = memory.present_bytes()
    held = bytearray(b"x") * _SIZE
    peak = memory.peak_bytes()
    assert peak - before > 0.9 * _SIZE
    del held
    assert memory.peak_bytes() >= 0.9 * peak
    memory.forget_peak()
    assert memory.peak_bytes() < peak - _SIZE // 2
    assert 0 < memory.mapped_files_bytes() < peak


def test_without_the_files_nothing_is_known(tmp_path: Path) -> None:
    memory.forget_peak(tmp_path)
    assert memory.peak_bytes(tmp_path) == 0
