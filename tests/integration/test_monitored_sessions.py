"""Trainings of TensorFlow's sessions: they save themselves, end in order, and go on."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest

from pitstop.events import (
    FitEnded,
    Notice,
    Restored,
    RoleTaken,
    ScriptSaved,
    StopDeadlinePassed,
    TrainerStopped,
    TrainingStalled,
)
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.store.run_folder import OUTPUT_FILE
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import KerasRun, Started
from tests.integration.member import Member
from tests.integration.supervisor import launch

LAST = 200
QUEUE_SECONDS = 15.0
FORMS = ("while", "counted", "never closed")
SIGTERM_CODE = 128 + signal.SIGTERM

pytestmark = pytest.mark.timeout(300)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")


def training(tmp_path: Path, python: Interpreter, form: str, folder: str = "saved") -> KerasRun:
    return KerasRun(tmp_path, "v1_sessions.py", (folder, str(LAST), form), interpreter=python)


def said(run: KerasRun, attempt: int = 1) -> list[str]:
    output = run.folder / "run" / "attempts" / str(attempt) / OUTPUT_FILE
    return output.read_text().splitlines() if output.exists() else []


@pytest.mark.parametrize("form", FORMS)
def test_a_session_that_is_stopped_saves_and_goes_on(
    tmp_path: Path, forked: Interpreter, form: str
) -> None:
    run = training(tmp_path, forked, form)
    first = run.start()
    run.until_training(10)
    assert run.status()["level"] == "not_exact"
    assert b"saves this training itself" in run.pitstop("checkpoint").stderr
    assert run.pitstop("stop").returncode == 0
    assert launch.finish(first).returncode == EXIT_STOPPED
    stopped = run.last(TrainerStopped).step
    assert 10 <= stopped < LAST
    assert said(run)[-1] == f"trains {stopped}, counted {stopped}"
    assert run.last(ScriptSaved) == ScriptSaved(stopped, "saved")
    assert run.status()["checkpoint_step"] == stopped
    assert f"resumes after step {stopped}; not exactly" in " ".join(run.why()["advice"])
    assert run.attempt().returncode == 0
    again = said(run, attempt=2)
    assert f"begins at {stopped}" in again
    assert again[-2:] == [f"trains {LAST}, counted {LAST}", "the loop has ended"]
    assert run.last(Restored).step == stopped
    assert run.last(FitEnded).step == LAST


def test_steps_of_workers_that_begin_at_once_are_not_taken_for_restored(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = training(tmp_path, forked, "begun")
    first = run.start()
    run.until_training(10)
    assert run.pitstop("stop").returncode == 0
    assert launch.finish(first).returncode == EXIT_STOPPED
    assert "begins at 1" in said(run)
    assert not run.events(Restored)
    saved = run.last(ScriptSaved).step
    assert run.attempt().returncode == 0
    assert f"begins at {saved + 1}" in said(run, attempt=2)
    assert run.last(Restored).step == saved


def test_a_step_that_another_process_took_before_the_last_save_counts(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = training(tmp_path, forked, "not alone")
    first = run.start()
    run.until_training(10)
    assert run.pitstop("stop").returncode == 0
    assert launch.finish(first).returncode == EXIT_STOPPED
    saved = run.last(ScriptSaved).step
    assert saved == run.last(TrainerStopped).step == run.status()["step"] == _last_step(run) + 1


def test_a_stop_does_not_wait_for_threads_of_queues(tmp_path: Path, forked: Interpreter) -> None:
    run = training(tmp_path, forked, "synchronous")
    first = run.start()
    run.until_training(10)
    began_seconds = time.monotonic()
    assert run.pitstop("stop").returncode == 0
    assert launch.finish(first).returncode == EXIT_STOPPED
    assert time.monotonic() - began_seconds < QUEUE_SECONDS
    assert not run.events(StopDeadlinePassed)
    assert run.last(ScriptSaved).step == run.last(TrainerStopped).step >= 10


def test_a_session_that_is_killed_goes_on_at_its_last_save(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = training(tmp_path, forked, "often")
    first = run.start()
    run.until_training(10)
    os.kill(run.status()["pid"], signal.SIGKILL)
    assert launch.finish(first).returncode == 128 + signal.SIGKILL
    saved = run.last(ScriptSaved).step
    assert saved >= 7
    done = _last_step(run)
    assert run.attempt().returncode == 0
    restored = run.last(Restored)
    assert restored.step >= saved  # or what was just being saved
    assert f"begins at {restored.step}" in said(run, attempt=2)
    assert restored.step + restored.lost_steps in {done, done + 1}


@pytest.mark.fast
def test_a_session_that_saves_nothing_is_left_behind_a_step(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = training(tmp_path, forked, "while", folder="none")
    first = run.start()
    run.until_training(10)
    assert "nothing is saved" in run.status()["level_reason"]
    assert b"nothing to save" in run.pitstop("checkpoint").stderr
    assert run.pitstop("stop").returncode == 0
    assert launch.finish(first).returncode == SIGTERM_CODE
    assert said(run)[-1].startswith("trains")
    assert run.status()["checkpoint_step"] is None
    assert "it keeps only what the script itself saves" in " ".join(run.why()["advice"])


TASKS = (("ps", "0"), ("worker", "0"), ("worker", "1"))


def cluster(tmp_path: Path, network: tuple[str, ...], saved: str = "", *more: str) -> list[Member]:
    """A parameter server and two workers, of which the first is the chief."""
    members = []
    for task in TASKS:
        folder = tmp_path / "-".join(task)
        folder.mkdir()
        words = (saved or str(tmp_path / "saved"), "100000", *task, *more)
        home = {"HOME": str(tmp_path)}
        members.append(
            Member(folder, "monitored_session.py", words, environment=home, network=network)
        )
    return members


def until_all_train(workers: list[Member], step: int = 1) -> None:
    launch.until(lambda: all(_last_step(run) >= step for run in workers))


def _last_step(run: KerasRun, attempt: int = 1) -> int:
    trained = re.findall(r"^trains (\d+)", "\n".join(said(run, attempt)), re.MULTILINE)
    return max(map(int, trained), default=0)


@needs_root
@pytest.mark.torture
@pytest.mark.parametrize("asked", [0, 1, 2])
def test_the_workers_of_a_session_stop_before_its_chief_saves(
    tmp_path: Path, network: tuple[str, ...], asked: int
) -> None:
    members = cluster(tmp_path, network)
    processes = [run.start() for run in members]
    until_all_train(members[1:])
    assert members[asked].pitstop("stop").returncode == 0
    assert [launch.finish(each).returncode for each in processes] == [EXIT_STOPPED] * 3
    saved = members[1].last(ScriptSaved).step
    assert saved >= max(_last_step(run) for run in members[1:])
    processes = [run.start() for run in members]
    # Who has no session yet is not known to the chief, and would wait for it without end.
    launch.until(lambda: all(_last_step(run, attempt=2) > saved for run in members[1:]))
    # The other worker may take steps before the chief tells where it is.
    begun = re.search(r"^begins at (\d+)", "\n".join(said(members[1], attempt=2)), re.MULTILINE)
    assert begun is not None
    assert int(begun[1]) >= saved
    assert members[1].last(Restored).step == saved
    assert members[1].pitstop("stop").returncode == 0
    assert [launch.finish(each).returncode for each in processes] == [EXIT_STOPPED] * 3


def run_of_all_tasks(
    folder: Path, network: tuple[str, ...], *words: str, until_step: int = 40, **variables: str
) -> tuple[Member, Started]:
    """One run that starts all tasks, when it has trained until this step."""
    home = {"HOME": str(folder), **variables}
    run = Member(folder, "v1_tasks.py", words, environment=home, network=network)
    started = run.start()
    launch.until(lambda: _last_step(run) >= until_step)
    return run, started


@needs_root
def test_one_run_of_all_tasks_stops_the_chief_whose_worker_opened_its_session_before(
    tmp_path: Path, network: tuple[str, ...]
) -> None:
    run, started = run_of_all_tasks(tmp_path, network, "monitored", "100000")
    assert run.pitstop("stop").returncode == 0
    assert launch.finish(started).returncode == EXIT_STOPPED
    saved = run.last(ScriptSaved).step
    assert saved == run.last(TrainerStopped).step
    assert f"resumes after step {saved}" in " ".join(run.why()["advice"])
    assert not run.events(StopDeadlinePassed)


@needs_root
@pytest.mark.parametrize(
    ("task", "number", "found"),
    [
        ("ps 0", signal.SIGKILL, "ps 0 no longer responded"),
        ("worker 1", signal.SIGSTOP, ""),
    ],
)
def test_one_run_of_all_tasks_does_not_wait_for_a_task_that_is_gone_or_suspended(
    tmp_path: Path, network: tuple[str, ...], task: str, number: signal.Signals, found: str
) -> None:
    words = ("monitored", "300")
    run, started = run_of_all_tasks(tmp_path, network, *words, PITSTOP_CLUSTER_LEASE="3")
    pids = {each.task: each.pid for each in run.events(RoleTaken) if each.role == "member"}
    os.kill(pids[task], number)
    code = launch.finish(started).returncode
    if found:
        assert code == 128 + signal.SIGKILL
        assert found in run.why()["summary"]
        assert "belongs to this run" in " ".join(run.why()["advice"])
        assert _last_step(run) < 300
    else:
        assert code == 0
        assert run.last(TrainingStalled).doing == "stopped"
        assert run.last(FitEnded).step == 300


@needs_root
@pytest.mark.torture
def test_one_run_of_all_tasks_stops_when_a_worker_is_gone_that_each_step_needs(
    tmp_path: Path, network: tuple[str, ...]
) -> None:
    words = ("synchronous monitored", "100000")
    run, started = run_of_all_tasks(tmp_path, network, *words, until_step=10)
    (tmp_path / "lost").touch()
    assert launch.finish(started).returncode == EXIT_STOPPED
    assert "worker 1 is gone" in run.last(Notice).message
    assert "worker 1" in run.why()["summary"]


@needs_root
@pytest.mark.torture
def test_workers_of_a_synchronous_session_end_when_one_of_them_is_lost(
    tmp_path: Path, network: tuple[str, ...]
) -> None:
    """The others would wait for its gradients without end; the chief saves what it has done."""
    members = cluster(tmp_path, network, "", "synchronous")
    processes = [run.start() for run in members]
    until_all_train(members[1:], step=20)
    (members[2].folder / "lost").touch()
    codes = [launch.finish(each).returncode for each in processes]
    assert codes == [EXIT_STOPPED, EXIT_STOPPED, 128 + signal.SIGKILL]
    assert members[1].why()["cause"] == "worker_lost"
    saved = members[1].last(ScriptSaved).step
    assert saved >= _last_step(members[1])
    (members[2].folder / "lost").unlink()
    processes = [run.start() for run in members]
    launch.until(lambda: _last_step(members[1], attempt=2) > 0)
    assert f"begins at {saved}" in said(members[1], attempt=2)
    assert members[2].pitstop("stop").returncode == 0
    assert [launch.finish(each).returncode for each in processes] == [EXIT_STOPPED] * 3


@needs_root
@pytest.mark.torture
@pytest.mark.parametrize("folder", ["none", "/tmp/tmpab12cd34"])
def test_a_cluster_that_saves_nothing_ends_with_one_exit_code(
    tmp_path: Path, network: tuple[str, ...], folder: str
) -> None:
    members = cluster(tmp_path, network, folder)
    processes = [run.start() for run in members]
    until_all_train(members[1:])
    assert members[2].pitstop("stop").returncode == 0
    assert [launch.finish(each).returncode for each in processes] == [SIGTERM_CODE] * 3
    assert [run.status()["checkpoint_step"] for run in members] == [None] * 3


@needs_root
@pytest.mark.torture
@pytest.mark.parametrize("restarts", [True, False])
def test_a_session_whose_parameter_server_is_killed(
    tmp_path: Path, network: tuple[str, ...], restarts: bool
) -> None:
    store, chief, _ = members = cluster(tmp_path, network)
    more = ("--restarts", "2") if restarts else ()
    processes = [run.start(*more) for run in members]
    until_all_train([chief], step=20)
    os.kill(store.status()["pid"], signal.SIGKILL)
    if restarts:
        # TensorFlow's session recovers by itself, from the chief's last save.
        launch.until(lambda: chief.events(Restored))
        assert chief.last(Restored).lost_steps > 0
        launch.until(lambda: said(chief)[-1] != said(chief)[-2])
        assert chief.pitstop("stop").returncode == 0
        assert [launch.finish(each).returncode for each in processes] == [EXIT_STOPPED] * 3
    else:
        codes = [launch.finish(each).returncode for each in processes]
        assert codes[0] == 128 + signal.SIGKILL
        assert codes[1] not in (0, EXIT_STOPPED)
        assert codes[2] == codes[1]
        found = chief.why()
        assert found["cause"] == "worker_lost"
        assert "ps 0" in found["summary"]
