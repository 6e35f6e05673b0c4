"""Trainer, persister and supervisor are killed in all combinations while they write."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
import pytest

from pitstop.events import Restored, TrainerConnected
from pitstop.store.catalog import Catalog
from tests.integration.conftest import CYCLES
from tests.integration.supervisor.launch import (
    call,
    events,
    finish,
    last,
    persister_among,
    processes_in,
    run_trainer,
    until,
    until_line,
)

VICTIMS = ("trainer", "persister", "supervisor")
COMBINATIONS = [order for count in (1, 2, 3) for order in itertools.permutations(VICTIMS, count)]
"""Who is killed, and who first."""

ROUNDS = 200


def committed_step(folder: Path) -> int:
    """The step of the newest checkpoint, after every one of them was read and found good."""
    checkpoints = folder / "run" / "checkpoints"
    assert not (checkpoints / "quarantine").exists()
    catalog = Catalog(checkpoints)
    manifests = [catalog.verify(entry) for entry in catalog.entries()]
    return manifests[0].info.step if manifests else 0


def pid_of(victim: str, folder: Path, run: subprocess.Popen[bytes]) -> int:
    if victim == "supervisor":
        return run.pid
    if victim == "trainer":
        return last(folder, TrainerConnected).pid
    return persister_among(psutil.Process(run.pid).children()).pid


def kill(folder: Path, run: subprocess.Popen[bytes], victims: tuple[str, ...]) -> None:
    """Kills them one after the other, at once, and waits until nothing runs any more."""
    pids = [pid_of(victim, folder, run) for victim in victims]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    if victims == ("persister",):
        # The supervisor has started another: the run goes on until it is stopped.
        call(folder, "stop", "run")
    finish(run)
    until(lambda: not processes_in(folder))


def interrupt(folder: Path, chance: random.Random, victims: tuple[str, ...], known: int) -> int:
    """One attempt that is killed; the step of the newest checkpoint afterwards."""
    before = len(events(folder, Restored)) if (folder / "run").exists() else 0
    run = run_trainer(folder, "--every-step-durable", "--step-seconds", "0.004")
    until_line(run, b"step %d\n" % (known + chance.randint(3, 40)))
    kill(folder, run, victims)
    restored = events(folder, Restored)[before:]
    assert [event.step for event in restored] == ([known] if known else [])
    newest = committed_step(folder)
    assert newest >= known
    return newest


def go_through(folder: Path, rounds: Sequence[tuple[str, ...]]) -> int:
    chance, known = random.Random(1), 0
    for victims in rounds:
        known = interrupt(folder, chance, victims, known)
    shared = (folder / "run" / "checkpoints").glob("*/tensors-*.safetensors")
    assert list(shared), "no checkpoint shared what never changes with an earlier one"
    done = finish(run_trainer(folder, "--steps", known + 2))
    assert done.returncode == 0, done.stderr
    return known


@pytest.mark.fast
@pytest.mark.timeout(180)
def test_after_every_combination_the_newest_checkpoint_is_good(tmp_path: Path) -> None:
    singles_and_all = [order for order in COMBINATIONS if len(order) == 1] + [VICTIMS]
    assert go_through(tmp_path, singles_and_all) > 0


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_two_hundred_kills(
    tmp_path: Path,
    record_property: Callable[[str, object], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    rounds = [COMBINATIONS[number % len(COMBINATIONS)] for number in range(ROUNDS)]
    step = go_through(tmp_path, rounds)
    assert step >= ROUNDS
    record_property(CYCLES, ROUNDS)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{ROUNDS} kills of trainer, persister and supervisor in {len(COMBINATIONS)}"
            f" combinations: every checkpoint good, at step {step} in the end\n"
        )
