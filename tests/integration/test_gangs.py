"""Workers of a MultiWorkerMirroredStrategy stop, save and go on together, to the same bits."""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pytest

from pitstop.events import (
    AttemptEnded,
    CheckpointCommitted,
    GangBroken,
    GangFormed,
    GangSaved,
    GangStopped,
    Restored,
    StopDeadlinePassed,
    TrainerStopped,
)
from pitstop.exit_codes import EXIT_STOPPED
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import REAL, Started
from tests.integration.member import Member
from tests.integration.supervisor import launch

PORTS = (7201, 7202)
SCRIPT = Path(__file__).parent / "scripts" / "gang_member.py"
PATIENT = {"PITSTOP_CLUSTER_LINGER": "120"}
"""A worker on a busy machine has time to end after its leader."""
FROZEN_SECONDS = 12.0
STEPS = "240"
ENDS_LATE = """
import atexit, os, runpy, time
@atexit.register
def end():
    while os.path.exists("held"):
        time.sleep(0.02)
runpy.run_path({path!r}, run_name="__main__")
"""
_DIGEST = re.compile(rb"^(?:worker \d \| )?DIGEST \d (\w+)$", re.MULTILINE)

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root"),
    pytest.mark.timeout(400),
]


def config_of(index: int) -> str:
    cluster = {"worker": [f"127.0.0.1:{port}" for port in PORTS]}
    return json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})


@dataclass(frozen=True)
class Gang:
    """Two workers, each with a supervisor of its own."""

    runs: tuple[Member, ...]

    @classmethod
    def of(
        cls,
        folder: Path,
        network: tuple[str, ...],
        *arguments: str,
        script: Path = SCRIPT,
        python: Interpreter = REAL,
    ) -> Gang:
        runs = []
        for index in range(len(PORTS)):
            variables = {"TF_CONFIG": config_of(index), "HOME": str(folder), **PATIENT}
            own = folder / f"worker-{index}"
            own.mkdir()
            member = Member(own, str(script), arguments, environment=variables, network=network)
            runs.append(replace(member, interpreter=python))
        return cls(tuple(runs))

    def start(self, *options: str) -> list[Started]:
        return [run.start(*options) for run in self.runs]

    def until_step(self, step: int) -> None:
        for run in self.runs:
            run.until_training(step)

    def until_saved(self) -> None:
        """Until both have a checkpoint on disk."""
        for run in self.runs:
            launch.until(functools.partial(run.events, CheckpointCommitted))

    def start_until_saved(self, *options: str) -> list[Started]:
        started = self.start(*options)
        self.until_step(1)
        self.until_saved()
        return started

    def steps_of(self, kind: type[Restored | GangStopped | TrainerStopped]) -> list[int]:
        return [run.last(kind).step for run in self.runs]


def ended(started: list[Started]) -> tuple[list[int], list[str]]:
    """The exit codes, and the digests where the training has completed."""
    finished = [launch.finish(each) for each in started]
    digests = [found.decode() for each in finished for found in _DIGEST.findall(each.stdout)]
    return [each.returncode for each in finished], digests


def alone(
    folder: Path, *command: str, python: Interpreter = REAL
) -> list[subprocess.CompletedProcess[bytes]]:
    """Both workers without Pitstop, in a network of their own."""
    folder.mkdir()
    words = shlex.join([*python, *command])
    workers = [
        f"TF_CONFIG={shlex.quote(config_of(each))} {words} >out-{each} 2>err-{each} & w{each}=$!"
        for each in range(len(PORTS))
    ]
    waits = [f"wait $w{each}; echo $?" for each in range(len(PORTS))]
    lines = ["ip link set lo up", *workers, *waits]
    try:
        both = launch.run_alone(folder, "unshare", "-n", "sh", "-c", "\n".join(lines))
    finally:
        launch.end_all_below(folder)
    return [
        subprocess.CompletedProcess(
            words, int(code), *((folder / f"{name}-{each}").read_bytes() for name in ("out", "err"))
        )
        for each, code in enumerate(both.stdout.split())
    ]


def digests_of(folder: Path, *command: str, python: Interpreter = REAL) -> list[str]:
    """The digest of each worker of a training without Pitstop.

    TensorFlow's workers have been seen to end at their start without a word, hence the tries.
    """
    for attempt in range(3):
        both = alone(folder / str(attempt), *command, python=python)
        if any(each.returncode for each in both):
            continue
        return [found.decode() for each in both for found in _DIGEST.findall(each.stdout)]
    pytest.fail(f"two workers without Pitstop ended with {both}")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, forked: Interpreter) -> str:
    """The digest of a training whose batches are drawn outside of the step."""
    plain = tmp_path_factory.mktemp("plain")
    [digest] = set(digests_of(plain, str(SCRIPT), STEPS, "0", python=forked))
    return digest


def stop(gang: Gang, started: list[Started], who: int, *, command: bool = False) -> None:
    if command:
        assert gang.runs[who].pitstop("stop").returncode == 0
    else:
        started[who].send_signal(signal.SIGTERM)


@pytest.mark.parametrize(
    ("who", "command"),
    [
        (1, False),
        pytest.param(1, True, marks=pytest.mark.torture),
        pytest.param(0, False, marks=pytest.mark.torture),
    ],
)
def test_a_stop_of_one_stops_all_at_one_step(
    tmp_path: Path,
    network: tuple[str, ...],
    uninterrupted: str,
    who: int,
    *,
    command: bool,
) -> None:
    gang = Gang.of(tmp_path, network, STEPS, "0.02")
    started = gang.start()
    gang.until_step(20)
    stop(gang, started, who, command=command)
    assert ended(started) == ([EXIT_STOPPED] * 2, [])
    [step] = set(gang.steps_of(GangStopped))
    assert gang.steps_of(TrainerStopped) == [step] * 2
    codes, digests = ended(gang.start())
    assert (codes, digests) == ([0, 0], [uninterrupted] * 2)
    for run in gang.runs:
        restored = run.last(Restored)
        assert (restored.step, restored.level, restored.lost_steps) == (step, "exact_by_replay", 0)


def test_batches_that_are_drawn_inside_of_the_step(
    tmp_path: Path, network: tuple[str, ...], forked: Interpreter
) -> None:
    """In the form of TensorFlow's tutorial, with a new iterator for each epoch."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "gang").mkdir()
    expected = digests_of(tmp_path / "plain", str(SCRIPT), STEPS, "0", "inside", python=forked)
    gang = Gang.of(tmp_path / "gang", network, STEPS, "0.02", "inside", python=forked)
    started = gang.start()
    gang.until_step(40)
    stop(gang, started, 1)
    assert ended(started) == ([EXIT_STOPPED] * 2, [])
    [step] = set(gang.steps_of(TrainerStopped))
    assert ended(gang.start()) == ([0, 0], expected)
    for run in gang.runs:
        restored = run.last(Restored)
        assert (restored.step, restored.level) == (step, "exact_by_replay")


@pytest.mark.torture
def test_a_script_that_has_a_preemption_handler_of_its_own(
    tmp_path: Path, network: tuple[str, ...], uninterrupted: str
) -> None:
    gang = Gang.of(tmp_path, network, STEPS, "0.02", "handler")
    started = gang.start()
    gang.until_step(20)
    stop(gang, started, 1)
    assert ended(started) == ([EXIT_STOPPED] * 2, [])
    assert len(set(gang.steps_of(TrainerStopped))) == 1
    assert ended(gang.start()) == ([0, 0], [uninterrupted] * 2)
    for run in gang.runs:
        restored = run.last(Restored)
        assert (restored.level, restored.lost_steps) == ("exact_by_replay", 0)


@pytest.mark.torture
def test_the_loss_of_one_ends_all_and_both_go_on_from_one_state(
    tmp_path: Path, network: tuple[str, ...], uninterrupted: str
) -> None:
    gang = Gang.of(tmp_path, network, STEPS, "0.04")
    started = gang.start_until_saved()
    psutil.Process(gang.runs[1].status()["pid"]).kill()
    assert ended(started) == ([EXIT_STOPPED, 128 + signal.SIGKILL], [])
    assert gang.runs[0].last(GangBroken).task == "worker 1"
    assert gang.runs[0].why()["cause"] == "worker_lost"
    codes, digests = ended(gang.start())
    assert (codes, digests) == ([0, 0], [uninterrupted] * 2)
    [step] = set(gang.steps_of(Restored))
    assert step > 0
    assert {run.last(Restored).level for run in gang.runs} == {"exact_by_replay"}


@pytest.mark.torture
@pytest.mark.parametrize("victim", [0, 1])
def test_restarts_bring_all_back(
    tmp_path: Path, network: tuple[str, ...], uninterrupted: str, victim: int
) -> None:
    gang = Gang.of(tmp_path, network, STEPS, "0.04")
    started = gang.start_until_saved("--restarts", "2")
    psutil.Process(gang.runs[victim].status()["pid"]).kill()
    assert ended(started) == ([0, 0], [uninterrupted] * 2)
    assert len({run.last(GangFormed).gang for run in gang.runs}) == 1
    assert len(set(gang.steps_of(Restored))) == 1


@pytest.mark.torture
@pytest.mark.parametrize("victim", [0, 1])
def test_a_supervisor_that_is_frozen_is_lost(
    tmp_path: Path, network: tuple[str, ...], uninterrupted: str, victim: int
) -> None:
    gang = Gang.of(tmp_path, network, STEPS, "0.1")
    started = gang.start_until_saved()
    frozen = psutil.Process(int(gang.runs[victim].status()["supervisor_pid"]))
    tree = [frozen, *frozen.children(recursive=True)]
    for each in tree:
        each.suspend()
    try:
        assert launch.finish(started[1 - victim]).returncode == EXIT_STOPPED
    finally:
        for each in tree:
            each.resume()
        launch.finish(started[victim])
    assert gang.runs[1 - victim].last(GangBroken).task == f"worker {victim}"
    assert gang.runs[1 - victim].why()["cause"] == "worker_lost"
    codes, digests = ended(gang.start())
    assert (codes, digests) == ([0, 0], [uninterrupted] * 2)
    assert len(set(gang.steps_of(Restored))) == 1


@pytest.mark.torture
@pytest.mark.parametrize("restarts", [True, False])
def test_workers_that_were_suspended_together_go_on_from_one_state(
    tmp_path: Path, network: tuple[str, ...], uninterrupted: str, *, restarts: bool
) -> None:
    """Without a word before, as when their container is frozen; TensorFlow bears some seconds."""
    gang = Gang.of(tmp_path, network, STEPS, "0.1")
    started = gang.start_until_saved(*(("--restarts", "2") if restarts else ()))
    trees = [psutil.Process(int(run.status()["supervisor_pid"])) for run in gang.runs]
    frozen = [each for tree in trees for each in (tree, *tree.children(recursive=True))]
    for each in frozen:
        each.suspend()
    time.sleep(FROZEN_SECONDS)
    for each in frozen:
        each.resume()
    codes, digests = ended(started)
    if not restarts:
        assert (codes, digests) == ([EXIT_STOPPED] * 2, [])
        assert {run.why()["cause"] for run in gang.runs} == {"worker_lost"}
        codes, digests = ended(gang.start())
    assert (codes, digests) == ([0, 0], [uninterrupted] * 2)


@pytest.mark.torture
def test_a_stop_does_not_wait_for_a_suspended_trainer_as_long_as_for_a_step(
    tmp_path: Path, network: tuple[str, ...], uninterrupted: str
) -> None:
    gang = Gang.of(tmp_path, network, STEPS, "0.1")
    started = gang.start_until_saved()
    psutil.Process(int(gang.runs[0].status()["pid"])).suspend()
    assert gang.runs[1].pitstop("stop").returncode == 0
    assert [launch.finish(each).returncode for each in started] == [EXIT_STOPPED] * 2
    assert gang.runs[0].last(StopDeadlinePassed).reason == "its process was suspended"
    assert "suspended" in gang.runs[0].why()["summary"]
    codes, digests = ended(gang.start())
    assert (codes, digests) == ([0, 0], [uninterrupted] * 2)


@pytest.mark.torture
def test_members_of_a_launch_stop_at_one_step(
    tmp_path: Path, network: tuple[str, ...], uninterrupted: str
) -> None:
    words = ["launch", "--workers", "2", "--run-dir", "run", "--", sys.executable, SCRIPT, STEPS]
    started = launch.start(tmp_path, *words, "0.03", before=network)
    members = tmp_path / "run" / "members"
    journal = members / "worker-1" / "journal.jsonl"
    launch.until(lambda: journal.exists() and b"fit_started" in journal.read_bytes())
    started.send_signal(signal.SIGTERM)
    assert launch.finish(started).returncode == EXIT_STOPPED
    steps = [launch.events(members, GangStopped, f"worker-{index}")[-1].step for index in (0, 1)]
    assert steps[0] == steps[1]
    again = launch.finish(launch.start(tmp_path, *words, "0.03", before=network))
    assert again.returncode == 0
    assert [each.decode() for each in _DIGEST.findall(again.stdout)] == [uninterrupted] * 2


def test_one_command_saves_all_members_of_a_launch_at_one_step(
    tmp_path: Path, network: tuple[str, ...], uninterrupted: str
) -> None:
    words = ["launch", "--workers", "2", "--run-dir", "run", "--", sys.executable, SCRIPT, STEPS]
    started = launch.start(tmp_path, *words, "0.05", before=network)
    members = tmp_path / "run" / "members"
    journal = members / "worker-0" / "journal.jsonl"
    launch.until(lambda: journal.exists() and b"fit_started" in journal.read_bytes())
    launch.until(lambda: (launch.status(members, "worker-0")["step"] or 0) > 5)
    asked = launch.call(tmp_path, "checkpoint", "run", "--name", "mine")
    assert asked.returncode == 0, asked.stderr
    saved = [launch.events(members, GangSaved, f"worker-{index}")[-1] for index in (0, 1)]
    assert saved[0] == saved[1]
    assert saved[0].name == "mine"
    assert f"saved step {saved[0].step} ".encode() in asked.stdout
    assert b"all members saved it" in asked.stdout
    for index in (0, 1):
        assert launch.status(members, f"worker-{index}")["common_step"] >= saved[0].step
    for each in psutil.Process(started.pid).children(recursive=True):
        each.kill()
    launch.finish(started)
    again = launch.finish(launch.start(tmp_path, *words, "0.05", before=network))
    assert [each.decode() for each in _DIGEST.findall(again.stdout)] == [uninterrupted] * 2
    restored = [launch.events(members, Restored, f"worker-{index}")[-1].step for index in (0, 1)]
    assert restored[0] == restored[1] >= saved[0].step


@pytest.mark.torture
def test_a_member_with_another_folder_is_refused(tmp_path: Path, network: tuple[str, ...]) -> None:
    """Its process ends later than that of the leader, whose end is no reason to stop it."""
    script = tmp_path / "script.py"
    script.write_text(ENDS_LATE.format(path=str(SCRIPT)))
    gang = Gang.of(tmp_path, network, STEPS, "0.02", script=script)
    started = gang.start()
    gang.until_step(20)
    stop(gang, started, 1)
    ended(started)
    (held := gang.runs[1].folder / "held").touch()
    again = [gang.runs[0].start(), gang.runs[1].start("--new")]
    launch.until(lambda: len(gang.runs[0].events(AttemptEnded)) == 2)
    held.unlink()
    assert ended(again) == ([2, 2], [])
    assert gang.runs[1].why()["cause"] == "checkpoint_corrupt_or_mismatch"
