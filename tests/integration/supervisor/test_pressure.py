"""Memory and disk that get short, for real: what was trained is saved before it is too late."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pitstop.events import AttemptEnded, CheckpointCommitted, Notice, StopRequested, TrainerStopped
from pitstop.machine import cgroup
from tests.integration.machine import limited_memory, mounted
from tests.integration.supervisor.launch import (
    PITSTOP,
    TRAINER,
    call,
    environment,
    events,
    finish,
    last,
    start,
    until,
    until_line,
)

_LIMIT_BYTES = 700 << 20
_HOARDS = ("--hoards", str(1 << 19), "--step-seconds", "0.01")
"""Some 50 MB a second."""


@pytest.fixture
def small_cgroup() -> Iterator[Path]:
    """A memory cgroup of its own with a limit, below the one of this process."""
    with limited_memory(_LIMIT_BYTES) as folder:
        yield folder


def _train_in(group: Path, folder: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [*PITSTOP, "run", "--run-dir", "run", *options, "--"]
    command += [sys.executable, str(TRAINER), *_HOARDS]
    shell = f'echo $$ > {group}/cgroup.procs && exec "$@"'
    return subprocess.Popen(
        ["sh", "-c", shell, "sh", *command],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _pressed(folder: Path) -> list[Notice]:
    return [each for each in events(folder, Notice) if each.code == "pressure"]


def _check_stopped(folder: Path, ended: subprocess.CompletedProcess[bytes], words: str) -> None:
    end, asked = last(folder, AttemptEnded), last(folder, StopRequested)
    assert ended.returncode == 75, ended.stderr
    assert (end.checkpoint_step, end.state) == (last(folder, TrainerStopped).step, "stopped")
    assert asked.source == "pressure"
    assert words in asked.reason
    why = json.loads(call(folder, "why", "run", "--json").stdout)
    assert why["cause"] == "stop_requested"
    assert words in why["summary"]


def test_a_run_is_stopped_before_the_kernel_kills(tmp_path: Path, small_cgroup: Path) -> None:
    ended = finish(_train_in(small_cgroup, tmp_path, "--on-pressure", "stop"))
    _check_stopped(tmp_path, ended, "short of memory (")
    counters = cgroup.read(cgroup.MemoryCgroup(_version(), "", small_cgroup, small_cgroup))
    assert counters.oom_kills == 0


def _version() -> int:
    found = cgroup.find(os.getpid())
    assert found is not None
    return found.version


def test_or_it_is_saved_and_goes_on(tmp_path: Path, small_cgroup: Path) -> None:
    run = _train_in(small_cgroup, tmp_path)
    until_line(run, b"step 5\n")
    until(lambda: _pressed(tmp_path))
    (tmp_path / "enough").touch()
    until(lambda: "pressure" in {each.reason for each in events(tmp_path, CheckpointCommitted)})
    assert call(tmp_path, "stop", "run").returncode == 0
    ended = finish(run)
    assert ended.returncode == 75
    assert b"Short of memory" in ended.stderr
    assert [each.source for each in events(tmp_path, StopRequested)] == ["command"]


@pytest.mark.parametrize("policy", ["warn", "stop"])
def test_a_disk_that_is_nearly_full(tmp_path: Path, policy: str) -> None:
    with mounted(tmp_path / "run", "-t", "tmpfs", "-o", "size=60m", "none") as disk:
        run = _train(tmp_path, "--on-pressure", policy)
        until_line(run, b"step 5\n")
        assert _pressed(tmp_path) == []
        free = os.statvfs(disk)
        (disk / "ballast").write_bytes(bytes(free.f_bavail * free.f_frsize - (12 << 20)))
        if policy == "warn":
            until(lambda: _pressed(tmp_path))
            assert call(tmp_path, "stop", "run").returncode == 0
            assert finish(run).returncode == 75
        else:
            _check_stopped(tmp_path, finish(run), "short of disk space (")


def _train(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    command = ["--", sys.executable, TRAINER]
    return start(folder, "run", "--run-dir", "run", *options, *command)
