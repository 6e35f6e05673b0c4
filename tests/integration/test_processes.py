"""Scripts whose trainings run in processes of their own."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pitstop.events import FitRestored, Notice, Restored, TrainerConnected
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import SCRIPTS, KerasRun
from tests.integration.supervisor.launch import finish, run_alone, until

STEPS_OF_A_FOLD = 20


@pytest.mark.timeout(240)
def test_one_process_after_the_other_is_stopped_killed_and_resumed(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = KerasRun(tmp_path, "folds.py", ("one-by-one",), ("--every", "1steps"))
    expected = run_alone(tmp_path, *forked, SCRIPTS / "folds.py", "here").stdout
    # In the second process, then in the third.
    assert run.attempt("--halt-at-step", "27").returncode == 75
    assert run.saved_step(1) == 27
    process = replace(run, pace_seconds=0.2).start()
    run.until_training(2 * STEPS_OF_A_FOLD + 5)
    os.kill(run.status()["pid"], signal.SIGKILL)
    assert finish(process).returncode == 1

    completed = run.attempt()
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout == expected
    assert [event.step for event in run.events(FitRestored, 3)] == [20, 40]
    assert run.last(Restored, 3).step == run.saved_step(2)
    assert len(run.events(TrainerConnected, 3)) == 3
    assert run.processes() == []


def test_what_trains_at_the_same_time_is_told(tmp_path: Path) -> None:
    run = KerasRun(tmp_path, "folds.py", ("at-once",), pace_seconds=0.5)
    process = run.start()
    until(lambda: "trains_beside" in {notice.code for notice in run.events(Notice)})
    assert run.pitstop("stop", "--now").returncode == 0
    assert finish(process).returncode == 75
    assert len(run.events(TrainerConnected)) == 1
    assert run.processes() == []


@pytest.mark.torture
def test_folds_that_are_left_out_shift_nothing(tmp_path: Path) -> None:
    """The first process of the second attempt trains what the second one trained before."""
    run = KerasRun(tmp_path, "folds.py", ("one-by-one",))
    expected = run_alone(tmp_path, sys.executable, SCRIPTS / "folds.py", "one-by-one").stdout
    assert run.attempt("--halt-at-step", "27").returncode == 75
    other = replace(run, environment={"SAMPLE_SKIP": "1"}).attempt()
    assert other.returncode == 0, other.stderr
    assert other.stdout.splitlines() == expected.splitlines()[1:]
    assert run.last(Restored, 2).step == 27
