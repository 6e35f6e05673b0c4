"""Loops of a `tf.compat.v1.Session` that save with a Saver: stopped in order, they go on."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from pitstop.events import FitEnded, Restored, ScriptSaved, StopDeadlinePassed, TrainerStopped
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.store.run_folder import OUTPUT_FILE
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import KerasRun
from tests.integration.member import Member
from tests.integration.supervisor import launch

LAST = 150
SIGTERM_CODE = 128 + signal.SIGTERM
TASKS = (("ps", "0"), ("worker", "0"), ("worker", "1"))

pytestmark = pytest.mark.timeout(300)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")


def training(tmp_path: Path, form: str, interpreter: Interpreter) -> KerasRun:
    arguments = ("saved", str(LAST), form)
    return KerasRun(tmp_path, "v1_loop.py", arguments, interpreter=interpreter)


def said(run: KerasRun, attempt: int = 1) -> str:
    output = run.folder / "run" / "attempts" / str(attempt) / OUTPUT_FILE
    return output.read_text() if output.exists() else ""


def steps(run: KerasRun, attempt: int = 1) -> list[int]:
    return [int(step) for step in re.findall(r"^trains (\d+)", said(run, attempt), re.MULTILINE)]


def stopped_when_at(run: KerasRun, step: int, attempt: int = 1) -> int:
    """The exit code of an attempt that is stopped after this step, in the middle of a turn."""
    started = run.start()
    launch.until(lambda: bool(steps(run, attempt)) and steps(run, attempt)[-1] >= step)
    assert run.pitstop("stop").returncode == 0
    return launch.finish(started).returncode


@pytest.mark.fast
def test_a_loop_that_is_stopped_saves_at_its_step_and_goes_on(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = training(tmp_path, "global", forked)
    assert stopped_when_at(run, 23) == EXIT_STOPPED
    assert run.status()["level"] == "not_exact"
    stopped = run.last(TrainerStopped).step
    assert steps(run)[-1] == stopped
    assert run.last(ScriptSaved) == ScriptSaved(stopped, "saved")
    assert f"resumes after step {stopped}; not exactly" in " ".join(run.why()["advice"])
    assert run.attempt().returncode == 0
    assert f"begins at {stopped}\n" in said(run, attempt=2)
    assert "the loop has ended" in said(run, attempt=2)
    assert run.last(Restored).step == stopped
    assert run.last(ScriptSaved).step == run.last(FitEnded).step == LAST


@pytest.mark.parametrize("form", ["supervised", "synchronous"])
def test_a_loop_of_a_supervisor_that_is_stopped_saves_at_its_step_and_goes_on(
    tmp_path: Path, form: str, forked: Interpreter
) -> None:
    run = training(tmp_path, form, forked)
    assert stopped_when_at(run, 23) == EXIT_STOPPED
    stopped = run.last(TrainerStopped).step
    assert run.last(ScriptSaved) == ScriptSaved(stopped, "saved")
    assert stopped_when_at(run, stopped + 5, attempt=2) == EXIT_STOPPED
    assert f"begins at {stopped}\n" in said(run, attempt=2)
    assert run.last(Restored).step == stopped
    if form == "supervised":  # At the end of the other one, TensorFlow may wait for two minutes.
        assert run.attempt().returncode == 0
        assert run.last(FitEnded).step == LAST


def test_a_loop_that_has_only_restored_goes_on_as_well(tmp_path: Path, forked: Interpreter) -> None:
    run = training(tmp_path, "global", forked)
    assert stopped_when_at(run, 13) == EXIT_STOPPED
    restored = run.last(ScriptSaved).step
    assert stopped_when_at(run, restored + 1, attempt=2) == EXIT_STOPPED
    assert f"begins at {restored}\n" in said(run, attempt=2)
    assert run.last(ScriptSaved) == ScriptSaved(steps(run, 2)[-1], "saved")


@pytest.mark.parametrize("form", ["epochs", "counted"])
def test_a_loop_whose_numbers_are_no_global_step_goes_on_at_its_last_save(
    tmp_path: Path, form: str, forked: Interpreter
) -> None:
    run = training(tmp_path, form, forked)
    assert stopped_when_at(run, 23) == EXIT_STOPPED
    saved, done = run.last(ScriptSaved).step, steps(run)[-1]
    assert saved == done // 10 * 10
    assert run.last(TrainerStopped).step == done
    assert f"resumes after step {saved}" in " ".join(run.why()["advice"])
    assert run.attempt().returncode == 0
    assert f"begins at {saved}\n" in said(run, attempt=2)


def test_a_session_that_is_never_closed_ends_with_its_script(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = training(tmp_path, "open", forked)
    assert run.attempt().returncode == 0
    assert run.last(FitEnded).step == LAST


def test_a_loop_that_looks_for_no_checkpoint_begins_anew_and_says_so(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = training(tmp_path, "forgetful", forked)
    assert stopped_when_at(run, 23) == SIGTERM_CODE
    assert said(run).splitlines()[-1] == f"trains {steps(run)[-1]}"
    assert run.status()["checkpoint_step"] is None
    assert "it starts over" in run.status()["level_reason"]


@needs_root
@pytest.mark.parametrize("form", ["global", "late"])
def test_one_run_that_starts_all_tasks_keeps_its_server_until_the_chief_has_saved(
    tmp_path: Path, network: tuple[str, ...], form: str
) -> None:
    home = {"HOME": str(tmp_path)}
    words = (form, "100000")
    run = Member(tmp_path, "v1_tasks.py", words, environment=home, network=network)
    assert stopped_when_at(run, 40) == EXIT_STOPPED
    saved = run.last(ScriptSaved).step
    # Workers may train on until the chief has saved.
    assert saved >= run.last(TrainerStopped).step
    assert stopped_when_at(run, saved + 20, attempt=2) == EXIT_STOPPED
    assert run.last(Restored).step == saved
    assert not run.events(StopDeadlinePassed)


@needs_root
@pytest.mark.torture
@pytest.mark.parametrize(
    ("form", "code"),
    [("global", EXIT_STOPPED), ("supervised", EXIT_STOPPED), ("forgetful", SIGTERM_CODE)],
)
def test_a_cluster_of_loops_stops_before_its_chief_saves(
    tmp_path: Path, network: tuple[str, ...], form: str, code: int
) -> None:
    members = []
    for task in TASKS:
        (tmp_path / "-".join(task)).mkdir()
        words = (str(tmp_path / "saved"), "100000", form, *task)
        home = {"HOME": str(tmp_path)}
        folder = tmp_path / "-".join(task)
        members.append(Member(folder, "v1_loop.py", words, environment=home, network=network))
    _, chief, worker = members

    def stopped(attempt: int) -> None:
        processes = [run.start() for run in members]
        launch.until(lambda: all(len(steps(run, attempt)) > 20 for run in (chief, worker)))
        assert worker.pitstop("stop").returncode == 0
        assert [launch.finish(each).returncode for each in processes] == [code] * 3

    stopped(1)
    if form == "forgetful":
        return
    saved = chief.last(ScriptSaved).step
    assert saved == chief.last(TrainerStopped).step
    stopped(2)
    assert chief.last(Restored).step == saved
    assert chief.last(ScriptSaved).step > saved
