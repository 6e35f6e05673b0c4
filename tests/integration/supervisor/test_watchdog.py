"""Standstills of a trainer that speaks the protocol: suspended, silent, and only slow."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil

from pitstop.events import (
    AttemptEnded,
    TrainerConnected,
    TrainerExited,
    TrainingStalled,
    TrainingWentOn,
)
from tests.integration.supervisor.launch import (
    TRAINER,
    call,
    events,
    finish,
    last,
    processes_in,
    start,
    status,
    until,
    until_line,
)


def _train(folder: Path, *words: object) -> subprocess.Popen[bytes]:
    """The words up to `--` are for `pitstop run`, the rest for the trainer."""
    split = words.index("--")
    options, trainer = words[:split], words[split + 1 :]
    command = [sys.executable, TRAINER, *trainer]
    return start(folder, "run", "--run-dir", "run", *options, "--", *command)


def _stalls(folder: Path) -> list[TrainingStalled]:
    begun = (folder / "run" / "journal.jsonl").exists()
    return events(folder, TrainingStalled) if begun else []


def _trainer(folder: Path) -> psutil.Process:
    return psutil.Process(last(folder, TrainerConnected).pid)


def test_a_suspended_trainer_is_told_of_never_ended_and_goes_on(tmp_path: Path) -> None:
    options = ["--hang-after", "1s", "--on-hang", "kill", "--"]
    run = _train(tmp_path, *options, "--steps", 400, "--step-seconds", 0.05)
    until_line(run, b"step 20\n")
    _trainer(tmp_path).send_signal(signal.SIGSTOP)
    (stall,) = until(lambda: _stalls(tmp_path))
    assert (stall.doing, stall.action) == ("stopped", "warn")
    assert "SIGSTOP" in stall.place
    _trainer(tmp_path).send_signal(signal.SIGCONT)
    assert until(lambda: events(tmp_path, TrainingWentOn))[0].seconds >= 5
    assert call(tmp_path, "stop", "run").returncode == 0
    ended = finish(run)
    assert ended.returncode == 75
    assert len(_stalls(tmp_path)) == 1
    assert b"the training continues" in ended.stderr


def test_a_trainer_that_does_nothing_is_ended_as_asked_and_its_snapshot_saved(
    tmp_path: Path,
) -> None:
    options = ["--hang-after", "1s", "--on-hang", "kill", "--"]
    run = _train(tmp_path, *options, "--stalls-at", 20)
    ended = finish(run)
    stall, exited = last(tmp_path, TrainingStalled), last(tmp_path, TrainerExited)
    assert ended.returncode == 137
    assert exited.signal == "SIGKILL"
    assert (stall.step, stall.action, stall.phase) == (20, "kill", "train")
    assert any("in stand_still()" in line for line in stall.stack)
    assert "in stand_still()" in stall.place
    assert last(tmp_path, AttemptEnded).checkpoint_step == 19
    written = (tmp_path / "run" / stall.stacks_file).read_text()
    assert "stand_still" in written
    assert "no progress for" in written
    assert processes_in(tmp_path) == []
    told = call(tmp_path, "why", "run").stdout
    assert b"hang_or_stall" in told


def test_a_warning_ends_nothing_and_is_said_once(tmp_path: Path) -> None:
    run = _train(tmp_path, "--hang-after", "1s", "--", "--stalls-at", 20)
    (stall,) = until(lambda: _stalls(tmp_path))
    assert stall.action == "warn"
    seen = status(tmp_path)
    assert (seen["on_hang"], seen["standstill"], seen["phase"]) == ("warn", stall.place, "train")
    assert seen["silent_seconds"] >= stall.seconds
    assert stall.place.encode() in call(tmp_path, "status", "run").stdout
    assert call(tmp_path, "stop", "--now", "run").returncode == 0
    ended = finish(run)
    assert ended.returncode == 75
    assert ended.stderr.count(b"no progress for") == 1


def test_a_restart_after_a_hang_comes_back_to_the_same_step_and_brakes(tmp_path: Path) -> None:
    options = ["--hang-after", "1s", "--on-hang", "restart", "--restarts", 5, "--"]
    ended = finish(_train(tmp_path, *options, "--stalls-at", 20))
    assert ended.returncode == 137
    assert [each.state for each in events(tmp_path, AttemptEnded)] == ["failed", "failed"]
    assert b"hang_or_stall twice in a row" in ended.stderr


def test_a_validation_that_moves_is_no_standstill_however_long(tmp_path: Path) -> None:
    run = _train(tmp_path, "--hang-after", "1s", "--on-hang", "kill", "--", "--pulses-at", 20)
    ended = finish(run)
    assert ended.returncode == 0, ended.stderr
    assert _stalls(tmp_path) == []


def test_no_watch_sees_nothing(tmp_path: Path) -> None:
    options = ["--hang-after", "0", "--on-hang", "kill", "--"]
    run = _train(tmp_path, *options, "--steps", 6, "--step-seconds", 2)
    assert finish(run).returncode == 0
    assert _stalls(tmp_path) == []
    assert not (tmp_path / "run" / "attempts" / "1" / "stacks.txt").exists()
