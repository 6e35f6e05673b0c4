"""Servers of a cluster end by themselves when the training is over, however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from pitstop.events import (
    MemberEnded,
    MemberJoined,
    MemberReleased,
    Notice,
    RoleTaken,
    StopDeadlinePassed,
)
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.store.run_folder import OUTPUT_FILE
from tests.integration.keras_run import Started
from tests.integration.member import Member
from tests.integration.supervisor import launch

TASKS = ("ps", "worker", "chief")
PORTS = {"ps": 7101, "worker": 7102, "chief": 7103}
SERVERS = ("worker", "ps")
ROLES = {"ps": "server", "worker": "server", "chief": "coordinator"}
UNTIL_ASKED = "-1"

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root"),
    pytest.mark.timeout(300),
]


@dataclass(frozen=True)
class Cluster:
    """The tasks of a cluster, and their supervisors."""

    runs: Mapping[str, Member]
    started: Mapping[str, Started]

    def until_training(self) -> None:
        output = self.runs["chief"].folder / "run" / "attempts" / "1" / OUTPUT_FILE
        launch.until(lambda: output.exists() and b"trains" in output.read_bytes())
        launch.until(lambda: len(self.runs["chief"].events(MemberJoined)) == len(SERVERS))

    def exit_codes(self) -> dict[str, int]:
        return {kind: launch.finish(each).returncode for kind, each in self.started.items()}

    def causes(self, kind: str) -> list[str]:
        why = self.runs[kind].why()
        return [why["cause"], *(other["cause"] for other in why["others"])]


def started(
    tmp_path: Path,
    network: tuple[str, ...],
    *arguments: str,
    lease: str = "",
    by_argument: bool = False,
) -> Cluster:
    cluster = {each: [f"127.0.0.1:{port}"] for each, port in PORTS.items()}
    runs = {}
    for kind in TASKS:
        config = json.dumps({"cluster": cluster, "task": {"type": kind, "index": 0}})
        (tmp_path / kind).mkdir()
        variables = {
            "TF_CONFIG": "" if by_argument else config,
            "HOME": str(tmp_path),
            "PITSTOP_CLUSTER_LEASE": lease,
            "PITSTOP_CLUSTER_LINGER": "2",
        }
        runs[kind] = Member(
            tmp_path / kind,
            "cluster_member.py",
            (*arguments, *((json.dumps(cluster), kind) if by_argument else ())),
            environment=variables,
            network=network,
        )
    return Cluster(runs, {kind: run.start("--grace", "60") for kind, run in runs.items()})


@pytest.mark.fast
def test_servers_end_when_a_launched_training_has_completed(
    tmp_path: Path, network: tuple[str, ...]
) -> None:
    script = Path(__file__).parent / "scripts" / "cluster_member.py"
    options = ("--workers", "1", "--ps", "1", "--run-dir", "run")
    words = ["launch", *options, "--", sys.executable, script, "5", "completes"]
    ended = launch.finish(launch.start(tmp_path, *words, before=network))
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count(b"chief 0 | trains") == 5
    assert b"join has returned" not in ended.stdout
    status = json.loads(launch.call(tmp_path, "status", "run", "--json").stdout)
    assert [(each["task"], each["state"], each["level"]) for each in status["members"]] == [
        (task, "completed", "not_exact") for task in ("chief 0", "worker 0", "ps 0")
    ]
    members = tmp_path / "run" / "members"
    ends = launch.events(members, MemberEnded, "chief-0")
    assert [(each.task, each.state) for each in ends] == [
        ("worker 0", "completed"),
        ("ps 0", "completed"),
    ]
    kept = [tmp_path / f"{kind}-{what}" for kind in ("worker", "ps") for what in ("exit", "open")]
    assert [path.read_text() for path in kept] == ["ended", "kept"] * 2
    for server in ("worker-0", "ps-0"):
        [released] = launch.events(members, MemberReleased, server)
        assert released.outcome == "completed"
        why = json.loads(launch.call(members, "why", server, "--json").stdout)
        assert (why["cause"], why["others"]) == ("completed_normally", [])


def test_a_stop_of_any_member_stops_all(tmp_path: Path, network: tuple[str, ...]) -> None:
    cluster = started(tmp_path, network, UNTIL_ASKED, "-")
    cluster.until_training()
    for kind, run in cluster.runs.items():
        status = run.status()
        assert (status["state"], status["phase"]) == ("running", ROLES[kind])
        assert status["level"] == "not_exact"
    assert cluster.runs["worker"].pitstop("stop").returncode == 0
    assert cluster.exit_codes() == dict.fromkeys(TASKS, 7)
    for kind, run in cluster.runs.items():
        assert run.status()["state"] == "stopped"
        assert run.last(RoleTaken).role == ROLES[kind]
        assert not run.events(StopDeadlinePassed)
        assert not [each for each in run.events(Notice) if each.code.startswith("no_training")]
        assert cluster.causes(kind)[0] == "stop_requested"


def test_servers_that_sleep_end_with_a_chief_that_does_not_say_who_it_is(
    tmp_path: Path, network: tuple[str, ...]
) -> None:
    cluster = started(tmp_path, network, "60", "completes", by_argument=True)
    cluster.until_training()
    assert cluster.exit_codes() == dict.fromkeys(TASKS, 0)
    for kind in SERVERS:
        assert cluster.runs[kind].last(MemberReleased).outcome == "completed"


def test_a_stop_ends_servers_that_sleep_with_the_code_of_their_chief(
    tmp_path: Path, network: tuple[str, ...]
) -> None:
    cluster = started(tmp_path, network, UNTIL_ASKED, "-", by_argument=True)
    cluster.until_training()
    assert cluster.runs["ps"].pitstop("stop").returncode == 0
    assert cluster.exit_codes() == dict.fromkeys(TASKS, 7)


def test_servers_end_when_the_chief_is_lost(tmp_path: Path, network: tuple[str, ...]) -> None:
    cluster = started(tmp_path, network, UNTIL_ASKED, "-", lease="5")
    cluster.until_training()
    chief = psutil.Process(cluster.runs["chief"].status()["supervisor_pid"])
    for process in (chief, *chief.children(recursive=True)):
        process.send_signal(signal.SIGKILL)
    codes = cluster.exit_codes()
    assert [codes[kind] for kind in SERVERS] == [EXIT_STOPPED, EXIT_STOPPED]
    for kind in SERVERS:
        assert cluster.runs[kind].last(MemberReleased).outcome == "lost"
        assert cluster.causes(kind)[0] == "worker_lost"


@pytest.mark.torture
def test_servers_end_when_the_chief_has_failed(tmp_path: Path, network: tuple[str, ...]) -> None:
    cluster = started(tmp_path, network, "5", "fails")
    assert cluster.exit_codes() == dict.fromkeys(TASKS, 1)
    assert cluster.causes("chief")[0] == "user_code_error"
    for kind in SERVERS:
        assert cluster.causes(kind)[0] == "worker_lost"


@pytest.mark.torture
def test_a_chief_that_is_suspended_keeps_its_servers(
    tmp_path: Path, network: tuple[str, ...]
) -> None:
    cluster = started(tmp_path, network, "100", "completes", lease="2")
    cluster.until_training()
    chief = cluster.started["chief"]
    os.kill(chief.pid, signal.SIGTSTP)
    launch.until(lambda: psutil.Process(chief.pid).status() == psutil.STATUS_STOPPED)
    with pytest.raises(subprocess.TimeoutExpired):
        cluster.started["ps"].wait(6.0)
    os.kill(chief.pid, signal.SIGCONT)
    assert cluster.exit_codes() == dict.fromkeys(TASKS, 0)
