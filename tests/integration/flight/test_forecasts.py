"""A training that leaks in a memory cgroup is told of it before it is killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pitstop import journal
from pitstop.events import ExhaustionForecast, TrainerExited
from pitstop.journal import Entry
from tests.integration.keras_run import SCRIPTS
from tests.integration.machine import limited_memory
from tests.integration.supervisor import launch

_LIMIT_BYTES = 1100 << 20
_LONGEST_SECONDS = 500.0


@pytest.fixture
def small_cgroup() -> Iterator[Path]:
    """A memory cgroup with a limit, below the one of this process."""
    with limited_memory(_LIMIT_BYTES) as folder:
        yield folder


def train(group: Path, folder: Path, *arguments: str) -> tuple[int, list[Entry]]:
    """Trains in a cgroup to the end; the exit code and the journal."""
    words = [*launch.PITSTOP, "run", "--run-dir", "run", "--", sys.executable]
    words += [str(SCRIPTS / "leaks.py"), *arguments]
    script = f'echo $$ > {group}/cgroup.procs && exec "$@"'
    process = subprocess.Popen(
        ["sh", "-c", script, "sh", *words],
        cwd=folder,
        env=launch.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    process.wait(_LONGEST_SECONDS)
    return process.returncode, list(journal.read(folder / "run/journal.jsonl").entries)


@pytest.mark.torture
@pytest.mark.timeout(600)
def test_a_leak_is_foreseen_and_comes_true(small_cgroup: Path, tmp_path: Path) -> None:
    exit_code, entries = train(small_cgroup, tmp_path, "--size", "100000")
    assert exit_code == 137
    [told] = [entry for entry in entries if isinstance(entry.event, ExhaustionForecast)]
    [ended] = [entry for entry in entries if isinstance(entry.event, TrainerExited)]
    assert isinstance(told.event, ExhaustionForecast)
    assert isinstance(ended.event, TrainerExited)
    assert ended.event.oom_kills
    assert (told.event.resource, told.event.place) == ("memory", "cgroup")
    real_seconds = ended.time_seconds - told.time_seconds
    assert told.event.seconds_left == pytest.approx(real_seconds, rel=0.25)


@pytest.mark.torture
@pytest.mark.timeout(600)
def test_a_healthy_training_is_told_nothing(small_cgroup: Path, tmp_path: Path) -> None:
    arguments = ("--size", "100000", "--healthy", "--epochs", "400")
    exit_code, entries = train(small_cgroup, tmp_path, *arguments)
    assert exit_code == 0
    assert not [entry for entry in entries if isinstance(entry.event, ExhaustionForecast)]
