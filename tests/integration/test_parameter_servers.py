"""Loops whose variables lie on parameter servers: no step of a worker is lost or counted twice."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pytest

from pitstop.events import CheckpointCommitted, LevelKnown, MemberRestarted, Notice, TrainerStopped
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.store.run_folder import OUTPUT_FILE
from pitstop.tensorflow.variables import stored_values
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import REAL, Started
from tests.integration.supervisor import launch

SCRIPT = Path(__file__).parent / "scripts" / "parameter_servers.py"
EPOCHS, STEPS = 3, 60
ALL = EPOCHS * STEPS + 1
SHAPE = ("--workers", "2", "--ps", "2", "--run-dir", "run")
SLOW, AT_ONCE = "0.1", "0"
SLOWER_IN_HALF = "0.1,1"
"""Leaves 45 s for commands from the first half on, which take long on a busy machine."""
LONGEST_SECONDS = 30.0
HELD = [[[ALL, ALL], [ALL, ALL]], [[ALL] * 4], EPOCHS]
"""What the script says at its end where no step was lost or repeated."""

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root"),
    pytest.mark.timeout(300),
]


@dataclass(frozen=True)
class Launched:
    """A launched cluster in a folder."""

    folder: Path
    network: tuple[str, ...]
    python: Interpreter = REAL
    shape: tuple[str, ...] = SHAPE

    def start(self, *options: str, pace: str = SLOW, lease: str = "") -> Started:
        words = ("launch", *self.shape, *options, "--", *self.python, SCRIPT, EPOCHS, STEPS)
        variables = {"SAMPLE_PACE": pace, "PITSTOP_CLUSTER_LEASE": lease}
        return launch.start(self.folder, *words, before=self.network, **variables)

    @property
    def members(self) -> Path:
        return self.folder / "run" / "members"

    def said(self, attempt: int) -> str:
        output = self.members / "chief-0" / "attempts" / str(attempt) / OUTPUT_FILE
        return output.read_text() if output.exists() else ""

    def until(self, words: str, attempt: int = 1) -> None:
        launch.until(lambda: f"{words}\n" in self.said(attempt))

    def until_saved(self) -> None:
        launch.until(lambda: bool(launch.events(self.members, CheckpointCommitted, "chief-0")))

    def requested(self) -> int:
        """How many checkpoints the chief has saved because somebody asked."""
        saved = launch.events(self.members, CheckpointCommitted, "chief-0")
        return sum(each.reason == "requested" for each in saved)

    def processes(self, member: str) -> tuple[psutil.Process, psutil.Process]:
        """The supervisor of a member, and the process that runs its script."""
        of_member = f"run/members/{member}"
        found = [each for each in launch.processes_in(self.folder) if of_member in _words(each)]
        supervisor = next(each for each in found if each.ppid() not in {p.pid for p in found})
        scripts = str(SCRIPT.parent)
        return supervisor, next(p for p in supervisor.children() if scripts in str(_words(p)))

    def why(self, member: str) -> str:
        return launch.call(self.members, "why", member).stdout.decode()

    def end_words(self, attempt: int) -> list[object]:
        """The counts in the shards, those in the slots, and that of the chief."""
        found = re.findall(r"^ends (\[\[.*?\]\]) (\[\[.*?\]\]) (\d+)$", self.said(attempt), re.M)
        return [json.loads(each) for each in found[-1]]

    def draws(self, attempts: int) -> list[str]:
        """What was said of each epoch, in any attempt."""
        text = "".join(self.said(attempt) for attempt in range(1, attempts + 1))
        return sorted(set(re.findall(r"^epoch .*$", text, re.M)))


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def uninterrupted() -> list[str]:
    random = np.random.default_rng(7)
    return [
        f"epoch {epoch} {STEPS} {STEPS * (epoch + 1)} {random.integers(1 << 30)}"
        for epoch in range(EPOCHS)
    ]


@pytest.fixture
def cluster(tmp_path: Path, network: tuple[str, ...]) -> Launched:
    return Launched(tmp_path, network)


@pytest.mark.fast
def test_a_stop_saves_all_steps_and_new_servers_get_them(
    tmp_path: Path, network: tuple[str, ...], forked: Interpreter
) -> None:
    cluster = Launched(tmp_path, network, forked)
    started = cluster.start(pace=SLOWER_IN_HALF)
    cluster.until("schedules 90")
    # Any member speaks for all: its leader saves, and knows of each task.
    asked = launch.call(cluster.members, "checkpoint", "worker-0")
    assert b"of chief 0, which saves" in asked.stdout, asked.stderr
    cluster.processes("worker-1")[0].send_signal(signal.SIGUSR2)
    launch.until(lambda: cluster.requested() == 2)
    notices = launch.events(cluster.members, Notice, "worker-1")
    assert "asked chief 0" in "".join(each.message for each in notices)
    rows = json.loads(launch.call(cluster.members, "status", "--json", "ps-0").stdout)["members"]
    assert [row["task"] for row in rows] == ["chief 0", "ps 0", "ps 1", "worker 0", "worker 1"]
    assert launch.call(cluster.members, "stop", "ps-1").returncode == 0
    ended = launch.finish(started)
    assert ended.returncode == EXIT_STOPPED, ended.stderr
    [stopped] = launch.events(cluster.members, TrainerStopped, "chief-0")
    saved = cluster.members / "chief-0" / "checkpoints" / f"{stopped.step:08}"
    values = stored_values.of_safetensors(saved / "tensors.safetensors")
    held = [
        (name.split("/")[2], np.unique(value.read()).tolist())
        for name, value in values.items()
        if name.startswith("variables/")
    ]
    assert 90 <= stopped.step < ALL
    counters = [count for name, count in held if name in ("total", "counts", "slot")]
    # Two shards each of the counts and of the slot.
    assert counters == [[stopped.step]] * 5
    again = launch.finish(cluster.start(pace=AT_ONCE))
    assert again.returncode == 0, again.stderr
    assert cluster.end_words(2) == HELD
    assert f"fetched {ALL}\n" in cluster.said(2)
    assert "schedules 90\n" not in cluster.said(2)
    assert cluster.draws(2) == uninterrupted()
    level = launch.events(cluster.members, LevelKnown, "chief-0")[-1]
    assert level.level == "not_exact"
    assert "no completed step is lost" in level.reason


@pytest.mark.torture
@pytest.mark.parametrize("member", ["chief-0", "ps-1"])
def test_a_killed_process_costs_no_step(cluster: Launched, member: str) -> None:
    started = cluster.start("--restarts", "3")
    cluster.until("schedules 90")
    cluster.until_saved()
    cluster.processes(member)[1].kill()
    ended = launch.finish(started)
    assert ended.returncode == 0, ended.stderr
    assert cluster.end_words(2) == HELD
    assert cluster.draws(2) == uninterrupted()
    if member != "chief-0":
        why = launch.call(cluster.members, "why", "chief-0", "--attempt", "1").stdout.decode()
        assert "ps 1" in why


@pytest.mark.torture
def test_a_killed_worker_is_replaced_and_the_chief_goes_on(cluster: Launched) -> None:
    started = cluster.start("--restarts", "3")
    cluster.until("schedules 90")
    cluster.processes("worker-1")[1].kill()
    ended = launch.finish(started)
    assert ended.returncode == 0, ended.stderr
    shards, _, epochs = cluster.end_words(1)
    # The step that it was at may have been counted in part of the variables, and is repeated.
    assert epochs == EPOCHS
    assert all(count in (ALL, ALL + 1) for shard in shards for count in shard)  # type: ignore[attr-defined]
    restarted = launch.events(cluster.members, MemberRestarted, "chief-0")
    assert [each.task for each in restarted] == ["worker 1"]


@pytest.mark.torture
def test_a_frozen_server_is_named_as_the_reason(cluster: Launched) -> None:
    started = cluster.start(lease="3")
    cluster.until("schedules 90")
    frozen = cluster.processes("ps-0")
    for process in frozen:
        process.suspend()
    launch.until(lambda: "ps 0 on" in cluster.why("chief-0"))
    notices = launch.events(cluster.members, Notice, "chief-0")
    assert "parameter_server_lost" in [each.code for each in notices]
    for process in frozen:
        with suppress(psutil.NoSuchProcess):  # The launch kills it when the chief has ended.
            process.send_signal(signal.SIGCONT)
    ended = launch.finish(started)
    assert ended.returncode not in (0, EXIT_STOPPED)
    assert "variables that it held are lost" in cluster.why("chief-0")
    again = launch.finish(cluster.start(pace=AT_ONCE))
    assert again.returncode == 0, again.stderr
    assert cluster.end_words(2) == HELD


@pytest.mark.torture
def test_a_suspended_worker_is_ended_and_the_chief_goes_on(cluster: Launched) -> None:
    started = cluster.start(lease="3")
    cluster.until("schedules 90")
    cluster.processes("worker-1")[1].suspend()
    ended = launch.finish(started)
    assert ended.returncode == 128 + signal.SIGKILL, ended.stderr
    # The step that it was at is repeated.
    assert re.search(rf"^fetched ({ALL}|{ALL + 1})$", cluster.said(1), re.M)
    assert "was suspended" in cluster.why("worker-1")
    assert not launch.processes_in(cluster.folder)


@pytest.mark.torture
def test_a_suspended_chief_is_ended_and_resumes(cluster: Launched) -> None:
    started = cluster.start(lease="3")
    cluster.until("schedules 90")
    cluster.processes("chief-0")[1].suspend()
    ended = launch.finish(started)
    assert ended.returncode == 128 + signal.SIGKILL, ended.stderr
    assert "was suspended" in cluster.why("chief-0")
    assert not launch.processes_in(cluster.folder)
    assert launch.finish(cluster.start(pace=AT_ONCE)).returncode == 0
    assert cluster.end_words(2) == HELD


@pytest.mark.torture
def test_a_chief_does_not_wait_for_a_machine_that_is_gone(cluster: Launched) -> None:
    started = cluster.start("--restarts", "3", lease="3")
    cluster.until("schedules 90")
    for process in cluster.processes("worker-1"):
        process.suspend()
    began_seconds = time.monotonic()
    ended = launch.finish(started)
    assert ended.returncode == EXIT_STOPPED, ended.stderr
    assert time.monotonic() - began_seconds < LONGEST_SECONDS
    assert not launch.processes_in(cluster.folder)
    # A step that needs the interpreter, and is under way when the random streams are set back.
    assert launch.finish(cluster.start(pace="0.01")).returncode == 0
    assert cluster.end_words(2) == HELD


@pytest.mark.torture
def test_a_chief_without_workers_is_stopped(tmp_path: Path, network: tuple[str, ...]) -> None:
    shape = ("--workers", "1", "--ps", "2", "--run-dir", "run")
    cluster = Launched(tmp_path, network, shape=shape)
    started = cluster.start()
    cluster.until("schedules 90")
    cluster.processes("worker-0")[1].kill()
    ended = launch.finish(started)
    assert ended.returncode == EXIT_STOPPED, ended.stderr
    assert "worker 0 is gone" in cluster.why("chief-0")
    assert "SIGKILL" in launch.call(tmp_path, "why", "run").stdout.decode()
