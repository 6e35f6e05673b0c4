"""A callback that calls `pitstop.request_stop`, in a real training."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pitstop.events import AttemptEnded, Restored, StopRequested, TrainerStopped
from tests.integration.supervisor.launch import events, finish, last, start

SCRIPT = Path(__file__).parent / "scripts" / "asks_to_stop.py"


def _attempt(folder: Path) -> subprocess.CompletedProcess[bytes]:
    words = ["run", "--run-dir", "run", "--", sys.executable, SCRIPT]
    return finish(start(folder, *words, TF_CPP_MIN_LOG_LEVEL="2"))


def test_a_callback_stops_the_run_behind_its_step_and_the_run_goes_on(tmp_path: Path) -> None:
    stopped = _attempt(tmp_path)
    asked = last(tmp_path, StopRequested)
    at = last(tmp_path, TrainerStopped)
    assert stopped.returncode == 75, stopped.stderr
    assert (asked.source, asked.reason) == ("script", "26 steps are enough for today")
    assert (at.step, at.epoch, at.step_in_epoch, at.phase) == (26, 1, 6, "train")
    assert last(tmp_path, AttemptEnded).checkpoint_step == 26
    assert b"as the script requests: 26 steps are enough for today" in stopped.stderr

    resumed = _attempt(tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert b"epochs 3" in resumed.stdout
    assert last(tmp_path, Restored).step == 26
    assert len(events(tmp_path, StopRequested)) == 1


def test_without_pitstop_the_script_is_warned_and_trains_on(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "src"
    plain = subprocess.run(
        [sys.executable, SCRIPT],
        cwd=tmp_path,
        env={"PYTHONPATH": str(source), "TF_CPP_MIN_LOG_LEVEL": "2"},
        capture_output=True,
        timeout=100,
        check=True,
    )
    assert b"epochs 3" in plain.stdout
    assert b"RuntimeWarning: pitstop.request_stop() has no effect" in plain.stderr
