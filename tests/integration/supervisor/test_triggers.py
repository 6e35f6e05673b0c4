"""Every way to ask for a stop but the terminal's, with real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pitstop.events import (
    AttemptEnded,
    CheckpointCommitted,
    Notice,
    StopDeadlinePassed,
    StopRequested,
    TrainerStopped,
)
from pitstop.journal import read
from pitstop.store.run_folder import open_existing
from tests.integration.supervisor.launch import (
    PITSTOP,
    TRAINER,
    call,
    environment,
    events,
    finish,
    last,
    processes_in,
    run_script,
    run_trainer,
    start,
    until,
    until_line,
)

_WAITS = "import time\nprint('ready', flush=True)\ntime.sleep(60)\n"


def _train_with(
    folder: Path, setting: str, value: str, *options: object
) -> subprocess.Popen[bytes]:
    command = ["--", sys.executable, TRAINER, *options]
    return start(folder, "run", "--run-dir", "run", setting, value, *command)


def _cause(folder: Path) -> tuple[str, str]:
    found = json.loads(call(folder, "why", "run", "--json").stdout)
    return found["cause"], found["summary"]


def _needed_seconds(reason: str) -> float:
    return float(reason.partition("up to ")[2].split()[0])


def _attempt_seconds(folder: Path) -> float:
    entries = read(open_existing(folder / "run").journal).entries
    return entries[-1].time_seconds - entries[0].time_seconds


def _check_saved_at_a_step(folder: Path, code: int) -> None:
    end = last(folder, AttemptEnded)
    assert code == 75
    assert end.checkpoint_step == end.step == last(folder, TrainerStopped).step
    assert processes_in(folder) == []


def test_a_scheduler_gets_the_code_that_it_retries(tmp_path: Path) -> None:
    run = _train_with(tmp_path, "--stopped-code", "143")
    until_line(run, b"step 5\n")
    (tmp_path / "run" / "stop").touch()
    assert finish(run).returncode == 143
    assert last(tmp_path, AttemptEnded).exit_code == 75


def test_a_file_in_the_run_folder_stops_it_and_is_gone(tmp_path: Path) -> None:
    run = run_trainer(tmp_path)
    until_line(run, b"step 5\n")
    (tmp_path / "run" / "stop").write_text("the node is needed\n")
    ended = finish(run)
    asked = last(tmp_path, StopRequested)
    _check_saved_at_a_step(tmp_path, ended.returncode)
    assert (asked.source, asked.sender_uid, asked.reason) == (
        "file",
        os.getuid(),
        "the node is needed",
    )
    assert not (tmp_path / "run" / "stop").exists()
    assert b"as the file stop in the run folder requests: the node is needed" in ended.stderr
    cause, summary = _cause(tmp_path)
    assert cause == "stop_requested"
    assert "the node is needed" in summary


def test_a_file_stops_a_script_that_does_not_train(tmp_path: Path) -> None:
    run = run_script(tmp_path, _WAITS)
    until_line(run, b"ready")
    (tmp_path / "run" / "stop").touch()
    assert finish(run).returncode == 75
    assert last(tmp_path, StopRequested).source == "file"


def test_the_save_is_done_before_the_time_is_up(tmp_path: Path) -> None:
    ended = finish(_train_with(tmp_path, "--max-time", "5s", "--step-seconds", 0.2))
    asked = last(tmp_path, StopRequested)
    _check_saved_at_a_step(tmp_path, ended.returncode)
    assert _attempt_seconds(tmp_path) < 5.0
    assert asked.source == "time_limit"
    assert "left of 5 s (--max-time)" in asked.reason
    assert _needed_seconds(asked.reason) >= 2.2  # the margin, and a step as measured
    cause, summary = _cause(tmp_path)
    assert cause == "time_limit"
    assert "left of 5 s (--max-time)" in summary


def test_a_trainer_that_does_not_listen_is_ended_before_the_time_is_up(tmp_path: Path) -> None:
    options = ["--deaf", "--phase", "VALIDATION", "--step-seconds", 0.2]
    ended = finish(_train_with(tmp_path, "--max-time", "5s", *options))
    assert ended.returncode == 75
    assert _attempt_seconds(tmp_path) < 6.0
    assert last(tmp_path, StopDeadlinePassed).waited_seconds < 2.0
    assert last(tmp_path, AttemptEnded).checkpoint_step is not None


def test_the_end_of_the_slurm_job_is_a_limit(tmp_path: Path) -> None:
    run = run_trainer(tmp_path, SLURM_JOB_END_TIME=str(int(time.time()) + 6))
    ended = finish(run)
    _check_saved_at_a_step(tmp_path, ended.returncode)
    assert "(Slurm)" in last(tmp_path, StopRequested).reason


def test_sigusr1_stops_it(tmp_path: Path) -> None:
    run = run_trainer(tmp_path)
    until_line(run, b"step 5\n")
    run.send_signal(signal.SIGUSR1)
    ended = finish(run)
    asked = last(tmp_path, StopRequested)
    _check_saved_at_a_step(tmp_path, ended.returncode)
    assert (asked.source, asked.signal, asked.sender_pid) == ("signal", "SIGUSR1", os.getpid())
    assert _cause(tmp_path)[0] == "stop_requested"


def test_sigusr2_takes_a_checkpoint_and_training_goes_on(tmp_path: Path) -> None:
    run = run_trainer(tmp_path, "--step-seconds", 0.02)
    until_line(run, b"step 5\n")
    run.send_signal(signal.SIGUSR2)
    saved = until(lambda: _requested(tmp_path))
    until_line(run, b"step %d\n" % (saved + 3))
    call(tmp_path, "stop", "run")
    ended = finish(run)
    assert ended.returncode == 75
    assert [each.source for each in events(tmp_path, StopRequested)] == ["command"]
    assert b"saving a checkpoint at the next step" in ended.stderr


def _requested(folder: Path) -> int:
    saved = events(folder, CheckpointCommitted)
    return next((each.step for each in saved if each.reason == "requested"), 0)


def test_sigusr2_where_nothing_trains_says_so(tmp_path: Path) -> None:
    run = run_script(tmp_path, _WAITS)
    until_line(run, b"ready")
    run.send_signal(signal.SIGUSR2)
    until(lambda: [each for each in events(tmp_path, Notice) if each.code == "nothing_to_save"])
    run.send_signal(signal.SIGUSR1)
    assert finish(run).returncode == 75


def test_what_signals_do_can_be_chosen(tmp_path: Path) -> None:
    chosen = ["--signal", "USR1=checkpoint", "--signal", "HUP=ignore", "--signal", "USR2=stop"]
    command = ["--", sys.executable, TRAINER, "--step-seconds", 0.02]
    run = start(tmp_path, "run", "--run-dir", "run", *chosen, *command)
    until_line(run, b"step 5\n")
    run.send_signal(signal.SIGHUP)
    run.send_signal(signal.SIGUSR1)
    saved = until(lambda: _requested(tmp_path))
    until_line(run, b"step %d\n" % (saved + 3))
    run.send_signal(signal.SIGUSR2)
    ended = finish(run)
    _check_saved_at_a_step(tmp_path, ended.returncode)
    assert [each.signal for each in events(tmp_path, StopRequested)] == ["SIGUSR2"]
    assert b"SIGUSR1: saving a checkpoint" in ended.stderr
    assert _cause(tmp_path)[0] == "stop_requested"


def test_timeout_that_kills_soon_after_finds_the_run_saved(tmp_path: Path) -> None:
    command = [*PITSTOP, "run", "--run-dir", "run", "--", sys.executable, str(TRAINER)]
    ended = subprocess.run(
        ["timeout", "-k", "5", "3", *command, "--deaf", "--phase", "VALIDATION"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    # What timeout(1) returns when it did not have to kill.
    assert ended.returncode == 124
    assert last(tmp_path, StopRequested).seconds_left == 5.0
    assert last(tmp_path, StopDeadlinePassed).waited_seconds < 5.0
    end = last(tmp_path, AttemptEnded)
    assert (end.state, end.exit_code) == ("stopped", 75)
    assert end.checkpoint_step is not None
    assert _cause(tmp_path)[0] == "time_limit"


@pytest.mark.parametrize(
    ("options", "environment_", "seconds"),
    [((), {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, 30.0), (("--kill-after", "2min"), {}, 120.0)],
)
def test_what_is_left_after_a_sigterm_is_known(
    tmp_path: Path, options: tuple[str, ...], environment_: dict[str, str], seconds: float
) -> None:
    command = ["--", sys.executable, TRAINER]
    run = start(tmp_path, "run", "--run-dir", "run", *options, *command, **environment_)
    until_line(run, b"step 5\n")
    run.send_signal(signal.SIGTERM)
    _check_saved_at_a_step(tmp_path, finish(run).returncode)
    assert last(tmp_path, StopRequested).seconds_left == seconds


@pytest.mark.parametrize("call_it", ["pitstop.request_stop('enough')", "worker()"])
def test_a_script_that_does_not_train_stops_itself(tmp_path: Path, call_it: str) -> None:
    text = (
        "import os, time, pitstop\n"
        "def worker():\n"
        "    if os.fork() == 0:\n"
        "        pitstop.request_stop('enough')\n"
        "        time.sleep(60)\n"
        f"{call_it}\ntime.sleep(60)\n"
    )
    ended = finish(run_script(tmp_path, text))
    asked = last(tmp_path, StopRequested)
    assert ended.returncode == 75
    assert (asked.source, asked.reason) == ("script", "enough")
    assert b"as the script requests: enough" in ended.stderr
    assert processes_in(tmp_path) == []


def test_a_trainer_that_asks_is_stopped_behind_its_step(tmp_path: Path) -> None:
    ended = finish(run_trainer(tmp_path, "--asks-at", 5))
    _check_saved_at_a_step(tmp_path, ended.returncode)
    assert last(tmp_path, TrainerStopped).step == 5
    cause, summary = _cause(tmp_path)
    assert cause == "stop_requested"
    assert "`pitstop.request_stop` in the script: enough" in summary


def test_a_trainer_that_asks_and_does_not_stop_is_ended(tmp_path: Path) -> None:
    options = ["--asks-at", 5, "--deaf", "--phase", "VALIDATION"]
    ended = finish(_train_with(tmp_path, "--grace", "1s", *options))
    assert ended.returncode == 75
    assert last(tmp_path, StopDeadlinePassed).waited_seconds < 5.0
    assert _cause(tmp_path)[0] == "stop_requested"
