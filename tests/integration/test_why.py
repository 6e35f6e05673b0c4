"""What `pitstop why` says about real ends of a real Keras training."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Interpreter
from tests.integration.keras_run import OUT, SCRIPTS, KerasRun
from tests.integration.machine import limited_memory
from tests.integration.supervisor.launch import PITSTOP, environment, finish, until_line
from tests.report.page.parsed import Page

# TensorFlow alone takes about half of it.
_MEMORY_LIMIT_BYTES = 1200 << 20
_INTERRUPT_SUPERVISOR = "kill -INT $(cut -d' ' -f4 /proc/$PPID/stat)"


def _evidence(found: dict[str, Any]) -> str:
    return "\n".join(item["text"] for item in found["evidence"])


def _place(script: str, code: str, function: str) -> str:
    """How a diagnosis names the line of a script that holds `code`."""
    lines = (SCRIPTS / script).read_text().splitlines()
    number = next(number for number, line in enumerate(lines, start=1) if code in line)
    return f"{SCRIPTS / script}:{number} in {function}()"


@pytest.mark.fast
def test_ends_from_outside_are_told_apart_and_the_run_goes_on(tmp_path: Path) -> None:
    faults = {"FAULTS": "stop@batch:5 stop@batch:10 wait@batch:30"}
    faults |= {"FAULTS_DONE": str(tmp_path / "faults")}
    run = KerasRun(tmp_path, "train.py", (OUT, "--pace", "0.05"), environment=faults)

    asked = _with_stop_command(run, f"{' '.join(PITSTOP)} stop run --no-wait").attempt()
    interrupted = _with_stop_command(run, _INTERRUPT_SUPERVISOR).attempt()
    process = run.start()
    until_line(process, b"waiting")
    os.kill(run.status()["pid"], signal.SIGKILL)
    killed = finish(process)
    completed = run.attempt()

    ends = [each.returncode for each in (asked, interrupted, killed, completed)]
    assert ends == [75, 75, 128 + signal.SIGKILL, 0], completed.stderr
    found = run.why()
    attempts = [*found["attempts"], found]
    assert [(each["state"], each["cause"]) for each in attempts] == [
        ("stopped", "stop_requested"),
        ("stopped", "user_interrupt"),
        ("failed", "killed_from_outside"),
        ("completed", "completed_normally"),
    ]
    assert "`pitstop stop`" in attempts[0]["summary"]
    assert "SIGINT" in attempts[1]["summary"]
    assert "who sent SIGKILL" in attempts[2]["missing"]
    assert found["summary"] == "Training finished: 3 of 3 epochs, 60 steps."
    _check_reports(tmp_path / "run" / "attempts", attempts)


def _check_reports(folder: Path, attempts: list[dict[str, Any]]) -> None:
    """Every attempt left its reports, each of its own end."""
    for each in attempts:
        own = folder / str(each["attempt"])
        assert json.loads((own / "report.json").read_text())["cause"] == each["cause"]
        page = Page((own / "report.html").read_text())
        assert each["summary"].replace("`", "") in page.text
        assert page.text_of("h2").startswith("What to do") == bool(each["advice"])
        assert "How it went" in page.text
        assert page.tags.count("figure") >= 2  # the loss, and at least one thing more
        assert each["cause"] in (own / "report.md").read_text()


def _with_stop_command(run: KerasRun, command: str) -> KerasRun:
    return replace(run, environment={**run.environment, "STOP_COMMAND": command})


@pytest.fixture
def small_cgroup() -> Iterator[Path]:
    """A memory cgroup of its own that the script will not fit into."""
    with limited_memory(_MEMORY_LIMIT_BYTES) as folder:
        yield folder


def test_kill_by_the_kernel_for_memory(tmp_path: Path, small_cgroup: Path) -> None:
    run = KerasRun(tmp_path, "memory_hog.py")
    script = str(SCRIPTS / run.script)
    command = (*PITSTOP, "run", "--run-dir", "run", "--", sys.executable, script)
    shell = f'echo $$ > {small_cgroup}/cgroup.procs && exec "$@"'
    ended = subprocess.run(
        ["sh", "-c", shell, "sh", *command],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 128 + signal.SIGKILL, ended.stderr
    found = run.why()
    assert found["cause"] == "host_oom_killed"
    assert found["confidence"] >= 0.8
    assert "a cgroup limit of 1.3 GB" in found["summary"]
    assert "processes of the cgroup killed for memory during the attempt: 1" in _evidence(found)
    # It grows without an end: more memory is not the first advice.
    assert found["advice"][0].startswith("Use less host memory")
    assert any("raise the limit" in each for each in found["advice"][1:])


def test_exception_in_user_code(tmp_path: Path) -> None:
    run = KerasRun(tmp_path, "user_exception.py")
    ended, found = run.attempt(), run.why()
    where = _place("user_exception.py", '["accuracy"]', "summarise")
    assert (ended.returncode, found["cause"]) == (1, "user_code_error")
    assert found["summary"] == "The script failed after training (step 20): KeyError: 'accuracy'"
    assert f"raised at {where}" in _evidence(found)
    assert found["advice"][0] == f"Fix {where}."


def test_exception_in_a_callback(tmp_path: Path) -> None:
    run = KerasRun(tmp_path, "callback_exception.py")
    ended, found = run.attempt(), run.why()
    where = _place("callback_exception.py", "raise ValueError", "on_train_batch_end")
    assert (ended.returncode, found["cause"]) == (1, "callback_error")
    assert "in callback Uploader at step 28 (epoch 2, batch 8)" in found["summary"]
    assert "ValueError: bucket name must not be empty" in found["summary"]
    assert f"raised at {where}" in _evidence(found)
    assert found["advice"][0].startswith(f"Fix Uploader at {where}")


def test_early_stopping(tmp_path: Path, forked: Interpreter) -> None:
    run = KerasRun(tmp_path, "early_stopping.py", interpreter=forked)
    ended, found = run.attempt(), run.why()
    assert (ended.returncode, found["cause"]) == (0, "early_stopping_or_callback_stop")
    assert "EarlyStopping ended the training in epoch 3 of 10" in found["summary"]
    assert "stop_training was set at step 60 by EarlyStopping" in _evidence(found)
    assert "monitor=loss" in _evidence(found)
    assert "EarlyStopping(patience=4)" in found["advice"][0]


def test_callback_that_sets_stop_training(tmp_path: Path, forked: Interpreter) -> None:
    run = KerasRun(tmp_path, "callback_stops.py", interpreter=forked)
    ended, found = run.attempt(), run.why()
    where = _place("callback_stops.py", "stop_training = True", "on_train_batch_end")
    assert (ended.returncode, found["cause"]) == (0, "early_stopping_or_callback_stop")
    assert found["summary"] == "TimeBudget ended the training in epoch 2 of 10."
    assert f"stop_training was set at step 25 by TimeBudget ({where})" in _evidence(found)
    assert found["advice"][0] == f"If this was not intended, check {where}."


def test_dataset_that_ends_before_the_epoch(tmp_path: Path, forked: Interpreter) -> None:
    run = KerasRun(tmp_path, "dataset_exhausted.py", interpreter=forked)
    ended, found = run.attempt(), run.why()
    assert (ended.returncode, found["cause"]) == (0, "dataset_exhausted")
    assert "epoch 1 had only 15 of 20 steps" in found["summary"]
    assert "epoch 3 had only 15 of 20 steps" in _evidence(found)
    assert found["advice"][0].startswith("steps_per_epoch=20, but the dataset has 15 batches")


def test_loss_that_turns_into_nan(tmp_path: Path, forked: Interpreter) -> None:
    run = KerasRun(tmp_path, "nan_loss.py", interpreter=forked)
    ended, found = run.attempt(), run.why()
    assert (ended.returncode, found["cause"]) == (0, "nan_loss")
    assert "The loss became nan at step 8" in found["summary"]
    assert "its last finite value was" in _evidence(found)
    assert "after the fix, start over" in found["advice"][0]


def test_weights_that_turn_into_nan_behind_a_finite_loss(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = KerasRun(tmp_path, "nan_hidden.py", interpreter=forked)
    ended, found = run.attempt(), run.why()
    assert (ended.returncode, found["cause"]) == (0, "nan_loss")
    # That of the first snapshot behind the bad row of step 8, whenever that is taken.
    told = re.search(r"Weights were NaN or infinite at step (\d+)", found["summary"])
    assert told is not None, found["summary"]
    assert 8 <= int(told[1]) <= 40
    assert f"not finite at step {told[1]}: sequential/first/kernel" in _evidence(found)
    assert f"weights hold NaN or infinite numbers at step {told[1]}" in ended.stderr.decode()
