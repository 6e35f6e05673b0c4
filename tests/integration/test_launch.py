"""Several runs that are launched as one, without TensorFlow."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from pitstop.events import StopRequested
from pitstop.launch.runner import _ALONE_SECONDS
from pitstop.store.lock import read_lock
from tests.integration.supervisor import launch

SCRIPT = Path(__file__).parent / "scripts" / "tells_its_task.py"
ALL = "chief 0,worker 0,worker 1,ps 0"


def _started(folder: Path, *options: object, fails: str = "", lasts: str = "") -> Any:
    words = ("launch", "--run-dir", "run", *options, "--", sys.executable, SCRIPT, fails, lasts)
    return launch.start(folder, *words)


def _configs(output: bytes) -> dict[str, Any]:
    """What each member said of its TF_CONFIG."""
    lines = [line.split(" | config ") for line in output.decode().splitlines() if "config" in line]
    assert len(lines) == len({name for name, _ in lines})
    return {name: json.loads(text) for name, text in lines}


def _members(folder: Path) -> dict[str, Any]:
    answer = launch.call(folder, "status", "run", "--json")
    return {each["task"]: each for each in json.loads(answer.stdout)["members"]}


def _all_begun(folder: Path, count: int) -> bool:
    logs = list((folder / "run" / "members").glob("*/attempts/1/output.log"))
    return sum(b"to stderr" in each.read_bytes() for each in logs) == count


@pytest.mark.fast
def test_members_run_are_stopped_and_go_on_as_one(tmp_path: Path) -> None:
    shape = ("--workers", 2, "--ps", 1)
    started = _started(tmp_path, *shape, lasts=ALL)
    launch.until(lambda: _all_begun(tmp_path, 4))
    assert {each["state"] for each in _members(tmp_path).values()} == {"starting"}
    started.send_signal(signal.SIGINT)
    ended = launch.finish(started)
    assert ended.returncode == 75, ended.stderr
    assert set(_configs(ended.stdout)) == {"chief 0", "worker 0", "worker 1", "ps 0"}
    assert ended.stderr.count(b"worker 1 | to stderr\n") == 1
    assert b"to stderr" not in ended.stdout
    members = _members(tmp_path)
    assert {each["state"] for each in members.values()} == {"stopped"}
    assert not launch.processes_in(tmp_path)
    refused = launch.finish(_started(tmp_path, "--workers", 3, "--ps", 1, lasts=ALL))
    assert (refused.returncode, refused.stdout) == (2, b"")
    again = _started(tmp_path, *shape, lasts=ALL)
    launch.until(lambda: {each["attempt"] for each in _members(tmp_path).values()} == {2})
    assert launch.call(tmp_path, "stop", "run").returncode == 0
    assert launch.finish(again).returncode == 75
    assert not launch.processes_in(tmp_path)


def test_the_member_that_fails_first_is_named_and_who_lingers_is_ended(tmp_path: Path) -> None:
    started = _started(
        tmp_path, "--workers", 3, "--linger", "1s", "--grace=2s", fails="worker 1", lasts="worker 2"
    )
    ended = launch.finish(started)
    assert ended.returncode == 3, ended.stderr
    assert not launch.processes_in(tmp_path)
    states = {task: each["state"] for task, each in _members(tmp_path).items()}
    assert states == {"worker 0": "completed", "worker 1": "failed", "worker 2": "stopped"}
    why = json.loads(launch.call(tmp_path, "why", "run", "--json").stdout)
    assert why["first_failed"] == why["members"][0]["task"] == "worker 1"
    assert b"worker 2: stopped" in launch.call(tmp_path, "why", "run").stdout


def test_the_stop_of_an_evaluator_ends_no_other_member(tmp_path: Path) -> None:
    started = _started(
        tmp_path, "--workers", 1, "--ps", 1, "--evaluator", lasts=f"{ALL},evaluator 0"
    )
    launch.until(lambda: _all_begun(tmp_path, 4))
    assert launch.call(tmp_path, "stop", "run/members/evaluator-0").returncode == 0
    launch.until(lambda: _members(tmp_path)["evaluator 0"]["state"] == "stopped")
    time.sleep(_ALONE_SECONDS + 1)  # after which a worker that was stopped so ends the others
    states = {task: each["state"] for task, each in _members(tmp_path).items()}
    others = dict.fromkeys(("chief 0", "worker 0", "ps 0"), "starting")
    assert states == others | {"evaluator 0": "stopped"}
    started.send_signal(signal.SIGINT)
    assert launch.finish(started).returncode == 75


def test_an_evaluator_does_not_outlive_a_leader_that_was_stopped(tmp_path: Path) -> None:
    shape = ("--workers", 1, "--evaluator", "--linger", "1h")
    started = _started(tmp_path, *shape, lasts=f"{ALL},evaluator 0")
    launch.until(lambda: _all_begun(tmp_path, 2))
    assert launch.call(tmp_path, "stop", "run/members/worker-0").returncode == 0
    ended = launch.finish(started)
    assert ended.returncode == 75, ended.stderr
    assert not launch.processes_in(tmp_path)


@pytest.mark.parametrize("stopped", ["chief-0", "ps-0"])
def test_nobody_lingers_for_a_member_that_was_stopped_before_it_met_another(
    tmp_path: Path, stopped: str
) -> None:
    started = _started(tmp_path, "--workers", 1, "--ps", 1, "--linger", "1h", lasts=ALL)
    launch.until(lambda: _all_begun(tmp_path, 3))
    assert launch.call(tmp_path, "stop", f"run/members/{stopped}").returncode == 0
    ended = launch.finish(started)
    assert ended.returncode == 75, ended.stderr
    assert not launch.processes_in(tmp_path)
    why = json.loads(launch.call(tmp_path, "why", "run", "--json").stdout)
    assert why["members"][0]["task"] == stopped.replace("-", " ")


def test_a_stop_while_the_members_start_is_a_stop(tmp_path: Path) -> None:
    started = _started(tmp_path, "--workers", 2, lasts=ALL)
    launch.until(lambda: psutil.Process(started.pid).children())
    started.send_signal(signal.SIGINT)
    ended = launch.finish(started)
    assert ended.returncode == 75, ended.stderr
    assert ended.stderr.count(b"stopped (exit code 75)") == 2
    assert not launch.processes_in(tmp_path)


def test_nothing_outlives_a_launcher_that_is_killed(tmp_path: Path) -> None:
    started = _started(tmp_path, "--workers", 2, lasts=ALL)
    launch.until(lambda: _all_begun(tmp_path, 2))
    locks = [tmp_path / "run" / "members" / name / "lock" for name in ("worker-0", "worker-1")]
    assert all(record is not None and record.pid for record in map(read_lock, locks))
    started.kill()
    launch.finish(started)
    launch.until(lambda: not launch.processes_in(tmp_path))
    assert {each["state"] for each in _members(tmp_path).values()} == {"stopped"}
    asked = launch.events(tmp_path / "run" / "members", StopRequested, "worker-1")[-1]
    assert asked.sender_command == "pitstop launch"


@pytest.mark.parametrize(("killed", "code"), [("worker 0", 137), ("worker 1", 75)])
def test_a_supervisor_that_is_killed_leaves_nothing(tmp_path: Path, killed: str, code: int) -> None:
    """The others may wait for that one, which nobody starts again: they are ended at once."""
    started = _started(tmp_path, "--workers", 2, "--linger", "1h", lasts=ALL)
    launch.until(lambda: _all_begun(tmp_path, 2))
    os.kill(_members(tmp_path)[killed]["supervisor_pid"], signal.SIGKILL)
    ended = launch.finish(started)
    assert ended.returncode == code, ended.stderr
    assert not launch.processes_in(tmp_path)


def test_a_member_that_was_suspended_is_said_to_have_been(tmp_path: Path) -> None:
    """Its launch ends it, which nobody outside has done."""
    shape = ("--workers", 2, "--linger", "1s")
    started = _started(tmp_path, *shape, lasts=ALL)
    launch.until(lambda: _all_begun(tmp_path, 2))
    suspended = psutil.Process(_members(tmp_path)["worker 1"]["supervisor_pid"])
    for each in (suspended, *suspended.children(recursive=True)):
        each.suspend()
    assert launch.call(tmp_path, "stop", "run/members/worker-0").returncode == 0
    ended = launch.finish(started)
    assert ended.returncode == 75, ended.stderr
    assert not launch.processes_in(tmp_path)
    why = json.loads(launch.call(tmp_path, "why", "run/members/worker-1", "--json").stdout)
    assert why["cause"] == "hang_or_stall", why
    assert "suspended" in str(why)


def test_options_of_run_are_handed_on_as_they_were_written(tmp_path: Path) -> None:
    unknown = launch.call(tmp_path, "launch", "--workers", 1, "--nonsense", "--", "true")
    assert unknown.returncode == 2
    nobody = launch.call(tmp_path, "launch", "--workers", 0, "--", "true")
    assert nobody.returncode == 2
    wrong = launch.call(tmp_path, "launch", "--workers", 1, "--every", "5 apples", "--", "true")
    mirror = ("--run-dir", "s3://bucket/run")
    refused = launch.call(tmp_path, "launch", "--workers", 1, *mirror, "--", "true")
    assert (wrong.returncode, refused.returncode, list(tmp_path.iterdir())) == (2, 2, [])
    options = ("--keep-best", "val_loss:2", "--keep-best=acc", "--keep", 7, "--force")
    ended = launch.finish(_started(tmp_path, "--workers", 1, *options))
    assert ended.returncode == 0, ended.stderr
    kept = tmp_path / "run" / "members" / "worker-0" / "attempts" / "1" / "retention.json"
    record = json.loads(kept.read_text())
    assert record["keep_last"] == 7
    assert len(record["keep_best"]) == 2


def test_output_that_nobody_reads_does_not_hold_the_training(tmp_path: Path) -> None:
    words = ("launch", "--run-dir", "run", "--workers", "2", "--", sys.executable, SCRIPT, "", "")
    line = " ".join(map(str, (*launch.PITSTOP, *words[:-2], "''", "''"))) + " 2>&1 | head -n 1"
    subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=tmp_path,
        env=launch.environment(),
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=60,
    )
    assert {each["state"] for each in _members(tmp_path).values()} == {"completed"}
