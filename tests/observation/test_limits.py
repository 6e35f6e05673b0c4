"""Limits, read from real processes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from pitstop.machine import memory
from pitstop.observation import observer


def test_limits_of_another_process_carry_units_and_none_for_unlimited() -> None:
    shell = "ulimit -t 71; ulimit -n 200; ulimit -v unlimited; echo; read line"
    child = subprocess.Popen(["sh", "-c", shell], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with child:
        assert child.stdout
        assert child.stdin
        child.stdout.readline()
        found = observer.read_limits(child.pid)
        child.stdin.close()
    assert found is not None
    assert found["cpu_seconds"] == {"soft": 71, "hard": 71}
    assert found["open_files"] == {"soft": 200, "hard": 200}
    assert found["address_space_bytes"] == {"soft": None, "hard": None}


def test_a_process_that_is_gone_has_no_limits() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert observer.read_limits(child.pid) is None


def test_space_of_a_folder(tmp_path: Path) -> None:
    space = memory.read_space(tmp_path)
    assert space is not None
    assert space["size_bytes"] == os.statvfs(tmp_path).f_blocks * os.statvfs(tmp_path).f_frsize
    assert memory.read_space(tmp_path / "none") is None
