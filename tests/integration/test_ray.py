"""Workers of Ray Train go on together, in the environment that `make test-ray` makes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from pitstop.events import Event, GangFormed, GangSaved, TrainerConnected
from pitstop.journal import read
from tests.integration.supervisor import launch

PYTHON = Path(__file__).parents[2] / ".compat" / "ray" / "bin" / "python"
EXAMPLE = Path(__file__).parents[2] / "examples" / "cluster_ray.py"
LONGEST_SECONDS = 240

_VARIABLES = {
    "PYTHONPATH": str(launch.SOURCE),
    "RAY_DEDUP_LOGS": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
}

Kind = TypeVar("Kind", bound=Event)

pytestmark = [
    pytest.mark.skipif(not PYTHON.exists(), reason="make test-ray makes its interpreter"),
    pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root"),
    pytest.mark.timeout(900),
]


@contextmanager
def _training(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The example, in a network of its own: Ray and TensorFlow listen on all interfaces."""
    words = f"ip link set lo up && exec timeout {LONGEST_SECONDS} {PYTHON} {EXAMPLE} --folder runs"
    folder.mkdir(exist_ok=True)
    with subprocess.Popen(
        ["unshare", "-n", "sh", "-c", words],
        cwd=folder,
        env={**os.environ, **_VARIABLES, "HOME": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        yield process


def _ends(process: subprocess.Popen[str]) -> set[str]:
    """What each worker says of its end."""
    words, _ = process.communicate(timeout=LONGEST_SECONDS)
    assert process.returncode == 0, words
    return set(re.findall(r"worker \d is \w+: weights \w+", words))


def _events(folder: Path, worker: int, kind: type[Kind]) -> list[Kind]:
    journal = folder / "runs" / f"worker-{worker}" / "journal.jsonl"
    entries = read(journal).entries if journal.exists() else []
    return [each.event for each in entries if isinstance(each.event, kind)]


def _until_saved(folder: Path, steps: int) -> None:
    give_up_at = time.monotonic() + LONGEST_SECONDS
    while not any(each.step >= steps for each in _events(folder, 1, GangSaved)):
        assert time.monotonic() < give_up_at
        time.sleep(0.02)


def test_a_killed_and_a_stopped_training_end_with_the_same_bits(tmp_path: Path) -> None:
    with _training(tmp_path / "whole") as whole:
        expected = _ends(whole)
    assert len(expected) == 2

    killed = tmp_path / "killed"
    with _training(killed) as process:
        _until_saved(killed, 100)
        os.kill(_events(killed, 1, TrainerConnected)[-1].pid, signal.SIGKILL)
        assert _ends(process) == expected
    for worker in (0, 1):
        first, *_, last = _events(killed, worker, GangFormed)
        assert (first.checkpoint, bool(last.checkpoint)) == ("", True)
        assert _state(killed, worker) == "completed"

    stopped = tmp_path / "stopped"
    with _training(stopped) as process:
        _until_saved(stopped, 100)
        launch.call(stopped, "stop", "runs/worker-0")
        assert all("stopped" in each for each in _ends(process))
    assert {_state(stopped, worker) for worker in (0, 1)} == {"stopped"}
    with _training(stopped) as process:
        assert _ends(process) == expected


def _state(folder: Path, worker: int) -> str:
    answer = launch.call(folder, "status", f"runs/worker-{worker}", "--json")
    return str(json.loads(answer.stdout)["state"])
