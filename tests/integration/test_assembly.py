"""Workers that wait for each other in the constructor of their strategy."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from pitstop.events import (
    AttemptEnded,
    AttemptStarted,
    FitStarted,
    LevelKnown,
    MemberReleased,
    Notice,
    TrainerConnected,
)
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.journal import read
from pitstop.store.run_folder import open_existing
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import SCRIPTS
from tests.integration.member import Member
from tests.integration.supervisor import launch

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root"),
    pytest.mark.timeout(150),
]
SCRIPT = """
import json, os, sys
import tensorflow as tf
if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 1:
    sys.exit(3)
tf.distribute.MultiWorkerMirroredStrategy()
"""
LEADER_COMPLETES = """
import json, os, sys
config = json.loads(os.environ["TF_CONFIG"])
task = config["task"]
if task["type"] == "chief":
    sys.exit()
if not os.path.exists("again"):
    open("again", "w").close()
    sys.exit(3)
import tensorflow as tf
if sys.argv[1] == "serves":
    tf.distribute.Server(config["cluster"], task["type"], task["index"]).join()
tf.distribute.MultiWorkerMirroredStrategy()
"""
SERVER_ENDS = """
import json, os, sys, time
if json.loads(os.environ["TF_CONFIG"])["task"]["type"] == "ps":
    sys.exit(int(sys.argv[1]))
while os.path.exists("waits"):
    time.sleep(0.1)
sys.exit(4)
"""
OUTLIVES = """
import atexit, json, os, signal, sys, threading, time
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    count = tf.Variable(0.0)
batches = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(99).batch(2)))
@tf.function
def step(batch):
    strategy.run(lambda each: count.assign_add(1.0), args=(batch,))
for _ in range(5):
    step(next(batches))
def hang():
    while True:
        time.sleep(1)
if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 1:
    form = sys.argv[1]
    if form == "exit handler":
        atexit.register(hang)
    elif form == "end of TensorFlow":
        class Hangs:
            def __del__(self): hang()
        sys.modules["hangs"] = Hangs()
    elif form == "killed":
        time.sleep(12)
        os.kill(os.getpid(), signal.SIGKILL)
    elif form == "works":
        time.sleep(15)
    elif form == "script":
        hang()
"""
SPAWNS = """
import json, os, subprocess, sys
cluster = {"worker": ["127.0.0.1:7304", "127.0.0.1:7305"]}
started = []
for index in range(2):
    task = {"cluster": cluster, "task": {"type": "worker", "index": index}}
    variables = {**os.environ, "TF_CONFIG": json.dumps(task)}
    started.append(subprocess.Popen([sys.executable, *sys.argv[1:]], env=variables))
sys.exit(max(each.wait() for each in started))
"""
LONGEST_SECONDS = 15.0
"""To end them; one that nobody tells waits for an hour."""


def test_a_stop_of_one_reaches_the_others(
    tmp_path: Path, network: tuple[str, ...], forked: Interpreter
) -> None:
    cluster = {"worker": [f"127.0.0.1:{port}" for port in (7301, 7302, 7303)]}
    members = []
    for index in (0, 1):
        task = {"cluster": cluster, "task": {"type": "worker", "index": index}}
        variables = {"TF_CONFIG": json.dumps(task), "HOME": str(tmp_path)}
        own = tmp_path / str(index)
        own.mkdir()
        member = Member(own, "gang_member.py", ("9", "0"), environment=variables, network=network)
        members.append(replace(member, interpreter=forked))
    started = [each.start() for each in members]
    for each in members:
        each.until_phase("assembling")
    launch.until(lambda: members[1].status()["leader"])
    began_seconds = time.monotonic()
    assert members[1].pitstop("stop").returncode == 0
    assert [launch.finish(each).returncode for each in started] == [EXIT_STOPPED] * 2
    assert time.monotonic() - began_seconds < LONGEST_SECONDS


def test_nobody_waits_for_a_member_of_a_launch_that_has_failed(
    tmp_path: Path, network: tuple[str, ...]
) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    words = ("launch", "--workers", "2", "--run-dir", "run", "--", sys.executable, "script.py")
    ended = launch.finish(launch.start(tmp_path, *words, before=network))
    assert ended.returncode == 3, ended.stderr
    assert b"worker 0 was stopped because another member had ended (exit code 75)" in ended.stderr
    victim = launch.call(tmp_path, "why", "run/members/worker-0").stdout
    assert b"worker 1 failed (exit code 3)" in victim, victim


@pytest.mark.parametrize(("form", "code"), [("serves", 0), ("assembles", 2)])
def test_nobody_waits_for_a_leader_that_had_completed_before(
    tmp_path: Path, network: tuple[str, ...], form: str, code: int
) -> None:
    (tmp_path / "script.py").write_text(LEADER_COMPLETES)
    options = ("--chief", "--workers", "1", "--linger", "1h", "--run-dir", "run")
    words = ("launch", *options, "--", sys.executable, "script.py", form)
    first = launch.finish(launch.start(tmp_path, *words, before=network))
    assert first.returncode == 3, first.stderr
    ended = launch.finish(launch.start(tmp_path, *words, before=network))
    assert ended.returncode == code, ended.stderr
    assert b"worker 0 was stopped because another member had ended" in ended.stderr


@pytest.mark.parametrize(("form", "code"), [("serves", 0), ("assembles", 2)])
def test_a_member_of_a_completed_launch_that_is_run_by_hand_does_not_wait(
    tmp_path: Path, network: tuple[str, ...], form: str, code: int
) -> None:
    (tmp_path / "script.py").write_text(LEADER_COMPLETES)
    command = ("--", sys.executable, "script.py", form)
    options = ("--chief", "--workers", "1", "--run-dir", "run")
    assert launch.finish(launch.start(tmp_path, "launch", *options, *command)).returncode == 3
    tasks = {"chief": ["127.0.0.1:7306"], "worker": ["127.0.0.1:7307"]}
    config = json.dumps({"cluster": tasks, "task": {"type": "worker", "index": 0}})
    variables = {"TF_CONFIG": config, "HOME": str(tmp_path), "PITSTOP_CLUSTER_LEASE": "3"}
    words = ("run", "--run-dir", "run/members/worker-0", *command)
    ended = launch.finish(launch.start(tmp_path, *words, before=network, **variables))
    assert ended.returncode == code, ended.stderr
    assert b"chief 0: its training had completed before" in ended.stderr
    [released] = launch.events(tmp_path / "run" / "members", MemberReleased, "worker-0")
    assert released.outcome == "completed"
    why = json.loads(launch.call(tmp_path, "why", "run/members/worker-0", "--json").stdout)
    assert why["cause"] == ("worker_lost" if code else "completed_normally")
    assert "again: it" not in " ".join(why["advice"])


@pytest.mark.parametrize(
    ("form", "linger", "code"),
    [
        ("script", "3s", 137),
        pytest.param("exit handler", "3s", 137, marks=pytest.mark.torture),
        pytest.param("end of TensorFlow", "3s", 0, marks=pytest.mark.torture),
        pytest.param("killed", "30s", 137, marks=pytest.mark.torture),
    ],
)
def test_nobody_waits_for_a_worker_that_outlives_its_leader(
    tmp_path: Path, network: tuple[str, ...], form: str, linger: str, code: int
) -> None:
    (tmp_path / "script.py").write_text(OUTLIVES)
    options = ("--workers", "2", "--run-dir", "run", "--linger", linger, "--grace", "3s")
    words = ("launch", *options, "--restarts", "2", "--", sys.executable, "script.py", form)
    ended = launch.finish(launch.start(tmp_path, *words, before=network))
    assert ended.returncode == code, ended.stderr
    assert b"pitstop: worker 0 completed" in ended.stderr
    how = f"failed (exit code {code})" if code else "completed"
    assert f"pitstop: worker 1 {how}".encode() in ended.stderr
    assert not launch.processes_in(tmp_path)
    why = json.loads(launch.call(tmp_path, "why", "run/members/worker-1", "--json").stdout)
    assert (why["cause"] == "completed_normally") == (code == 0)
    if form == "script":
        assert why["cause"] == "hang_or_stall"
        assert "worker 0 completed" in why["summary"]


def test_a_leader_does_not_wait_for_ever_for_a_server_that_has_ended(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SERVER_ENDS)

    def launched(code: str) -> subprocess.CompletedProcess[bytes]:
        options = ("--workers", "0", "--ps", "1", "--linger", "2s", "--run-dir", f"run-{code}")
        return launch.call(tmp_path, "launch", *options, "--", sys.executable, "script.py", code)

    assert launched("0").returncode == 4
    (tmp_path / "waits").touch()
    assert launched("0").returncode == 2
    assert launched("3").returncode == 3


@pytest.mark.parametrize("task", ["worker", "ps"])
def test_a_stop_of_one_that_has_not_reached_its_leader_ends_the_launch(
    tmp_path: Path, task: str
) -> None:
    """Its chief would wait for it without end."""
    (tmp_path / "script.py").write_text("import time; time.sleep(60)")
    options = ("--workers", "1", "--ps", "1", "--run-dir", "run")
    started = launch.start(tmp_path, "launch", *options, "--", sys.executable, "script.py")
    members = tmp_path / "run" / "members"
    for each in ("chief-0", "worker-0", "ps-0"):
        launch.until((members / each / "run.json").exists)
        launch.until(functools.partial(launch.events, members, AttemptStarted, each))
    assert launch.call(members, "stop", f"{task}-0").returncode == 0
    ended = launch.finish(started)
    assert b"chief 0 was stopped because another member had ended" in ended.stderr


@pytest.mark.parametrize("to_all", [True, False])
def test_a_worker_that_outlives_its_leader_is_stopped_by_request(
    tmp_path: Path, network: tuple[str, ...], *, to_all: bool
) -> None:
    """Nothing goes on when it is run again.  Who stops its leader alone does not stop it."""
    (tmp_path / "script.py").write_text(OUTLIVES)
    options = ("--workers", "2", "--run-dir", "run", "--linger", "1h")
    words = ("launch", *options, "--", sys.executable, "script.py", "works")
    started = launch.start(tmp_path, *words, before=network)
    members = tmp_path / "run" / "members"
    launch.until((members / "worker-0" / "run.json").exists)
    launch.until(lambda: launch.events(members, AttemptEnded, "worker-0"))
    leader = launch.events(members, AttemptStarted, "worker-0")[0].supervisor_pid
    os.kill(started.pid if to_all else leader, signal.SIGINT)
    ended = launch.finish(started)
    assert ended.returncode == (143 if to_all else 0), ended.stderr
    how = "stopped (exit code 143)" if to_all else "completed"
    assert f"pitstop: worker 1 {how}".encode() in ended.stderr
    assert not launch.processes_in(tmp_path)


@pytest.mark.timeout(300)
def test_workers_that_one_script_starts_do_not_wait_for_a_gang(
    tmp_path: Path, network: tuple[str, ...]
) -> None:
    (tmp_path / "script.py").write_text(SPAWNS)
    member = str(SCRIPTS / "gang_member.py")
    words = ("run", "--run-dir", "run", "--", sys.executable, "script.py", member, "40", "0.1")
    started = launch.start(tmp_path, *words, before=network, HOME=str(tmp_path))
    launch.until((tmp_path / "run" / "run.json").exists)
    launch.until(lambda: bool(launch.events(tmp_path, FitStarted)))
    began_seconds = time.monotonic()
    assert launch.call(tmp_path, "stop", "run").returncode == 0
    stopped = launch.finish(started)
    assert stopped.returncode == EXIT_STOPPED, stopped.stderr
    assert b"nothing was saved; run it again" in stopped.stderr
    assert time.monotonic() - began_seconds < LONGEST_SECONDS
    ended = launch.finish(launch.start(tmp_path, *words, before=network, HOME=str(tmp_path)))
    assert ended.returncode == 0, ended.stderr
    told = {each.code for each in launch.events(tmp_path, Notice)}
    assert "no_gang" in told
    assert "trains_beside" not in told
    assert "nothing is saved" in launch.last(tmp_path, LevelKnown).reason
    entries = read(open_existing(tmp_path / "run").journal).entries
    connected, begun = (
        next(each.time_seconds for each in entries if isinstance(each.event, kind))
        for kind in (TrainerConnected, FitStarted)
    )
    assert begun - connected < LONGEST_SECONDS
