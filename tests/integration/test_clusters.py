"""Servers, and what trains without steps that are seen, end in their own way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pitstop.events import Notice, RoleTaken, StopDeadlinePassed
from pitstop.store.run_folder import OUTPUT_FILE
from tests.integration.keras_run import KerasRun
from tests.integration.supervisor import launch

TASKS = ("ps", "worker", "chief")
PORTS = {"ps": 7101, "worker": 7102, "chief": 7103}


@pytest.fixture
def network() -> Iterator[tuple[str, ...]]:
    """The words that run a command in a network of its own: TensorFlow's servers hear everybody."""
    hold = ["unshare", "-n", "sh", "-c", "ip link set lo up && echo up && exec sleep 600"]
    with subprocess.Popen(hold, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        try:
            assert holder.stdout.readline() == b"up\n"
            yield ("nsenter", "-n", "-t", str(holder.pid), "--")
        finally:
            holder.kill()


def task_of(folder: Path, kind: str, words: tuple[str, ...]) -> KerasRun:
    cluster = {each: [f"127.0.0.1:{port}"] for each, port in PORTS.items()}
    config = json.dumps({"cluster": cluster, "task": {"type": kind, "index": 0}})
    folder.mkdir()
    return KerasRun(
        folder,
        "cluster_member.py",
        environment={"TF_CONFIG": config},
        interpreter=(*words, sys.executable),
    )


def trains(run: KerasRun) -> bool:
    output = run.folder / "run" / "attempts" / "1" / OUTPUT_FILE
    return output.exists() and b"trains" in output.read_bytes()


@pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")
@pytest.mark.timeout(300)
def test_servers_and_who_leads_them_end_in_their_own_way(
    tmp_path: Path, network: tuple[str, ...]
) -> None:
    runs = {kind: task_of(tmp_path / kind, kind, network) for kind in TASKS}
    session = KerasRun(tmp_path / "session", "monitored_session.py", (str(tmp_path / "saved"),))
    session.folder.mkdir()
    roles = {"ps": "server", "worker": "server", "chief": "coordinator"}
    roles["session"] = "monitored_session"
    runs["session"] = session
    started = {kind: run.start("--grace", "60") for kind, run in runs.items()}
    launch.until(lambda: all(trains(runs[kind]) for kind in ("chief", "session")))
    for kind, run in runs.items():
        status = run.status()
        assert (status["state"], status["phase"]) == ("running", roles[kind])
        assert status["level"] == "not_exact"
    for kind in ("session", "chief", "worker", "ps"):
        assert runs[kind].pitstop("stop").returncode == 0
        ended = launch.finish(started[kind])
        assert ended.returncode == (143 if roles[kind] == "server" else 7), ended.stderr
    for kind, run in runs.items():
        assert run.status()["state"] == "stopped"
        assert run.last(RoleTaken).role == roles[kind]
        assert not run.events(StopDeadlinePassed)
        assert not [each for each in run.events(Notice) if each.code.startswith("no_training")]
        causes = [run.why()["cause"], *(other["cause"] for other in run.why()["others"])]
        assert ("ps_or_server_never_stops" in causes) == (roles[kind] == "server")
    assert list((tmp_path / "saved").glob("*.index"))


@pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")
@pytest.mark.timeout(300)
def test_parameter_servers_end_when_the_launched_training_is_over(
    tmp_path: Path, network: tuple[str, ...]
) -> None:
    script = Path(__file__).parent / "scripts" / "cluster_member.py"
    options = ("--workers", "1", "--ps", "1", "--linger", "1s", "--run-dir", "run")
    words = [*network, *launch.PITSTOP, "launch", *options, "--", sys.executable, str(script), "5"]
    ended = subprocess.run(
        words,
        cwd=tmp_path,
        env=launch.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=launch.LONGEST_SECONDS,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count(b"chief 0 | trains\n") == 5
    status = launch.call(tmp_path, "status", "run", "--json")
    members = json.loads(status.stdout)["members"]
    assert [each["task"] for each in members] == ["chief 0", "worker 0", "ps 0"]
    assert members[0]["state"] == "completed"
    assert {each["level"] for each in members} == {"not_exact"}
