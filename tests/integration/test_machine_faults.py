"""The machine refuses or misbehaves: nothing is lost, and what is wrong is said."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from pitstop.events import CheckpointCommitted, Restored
from tests.integration import machine
from tests.integration.compare import assert_identical
from tests.integration.conftest import Baseline
from tests.integration.keras_run import OUT, KerasRun, Started
from tests.integration.supervisor import launch
from tests.integration.supervisor.launch import finish

_ARGUMENTS = ("--input", "tfdata-shuffle", "--validation")
_SCRIPT_ARGUMENTS = (OUT, *_ARGUMENTS)
_PACE_SECONDS = 0.25
_OFTEN = ("--overhead", "20%")

pytestmark = pytest.mark.timeout(240)


def start_under(run: KerasRun, wrapper: list[str]) -> Started:
    """Starts an attempt as the child of another command."""
    return subprocess.Popen(
        [*wrapper, *launch.PITSTOP, *run.words()],
        cwd=run.folder,
        env=launch.environment(**run.variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def assert_finishes(run: KerasRun, folder: Path, baseline: Baseline, from_step: int) -> None:
    completed = run.attempt()
    assert completed.returncode == 0, completed.stderr
    assert run.last(Restored).step == from_step
    assert_identical(baseline(_ARGUMENTS), folder / OUT)


def test_a_disk_that_turns_read_only(tmp_path: Path, baseline: Baseline) -> None:
    run = KerasRun(tmp_path, "train.py", _SCRIPT_ARGUMENTS, _OFTEN, pace_seconds=_PACE_SECONDS)
    with machine.real_disk(tmp_path / "run") as disk:
        process = run.start()
        run.until_training(3)
        assert run.pitstop("checkpoint").returncode == 0
        machine.break_disk(disk)
        refused = run.pitstop("checkpoint")
        assert refused.returncode == 1
        assert b"the file system is read-only" in refused.stderr
        good = run.last(CheckpointCommitted).step
        run.until_training(run.status()["step"] + 3)
        assert run.pitstop("stop").returncode == 0
        ended = finish(process)
        assert b"Training continues" in ended.stderr
        assert b"could not be saved" in ended.stderr
    with machine.mended_disk(tmp_path / "run"):
        assert_finishes(run, tmp_path, baseline, good)


# Timed against a disk of a set speed: on a busy machine the training ends before it is stopped.
@pytest.mark.torture
def test_a_disk_that_is_slow(tmp_path: Path, baseline: Baseline) -> None:
    run = KerasRun(tmp_path, "train.py", _SCRIPT_ARGUMENTS, _OFTEN, pace_seconds=_PACE_SECONDS)
    with (
        machine.real_disk(tmp_path / "run") as disk,
        machine.throttled(disk, 100_000) as wrapper,
    ):
        process = start_under(run, wrapper)
        run.until_training(3)
        before = run.status()["step"]
        assert run.pitstop("checkpoint").returncode == 0
        slow = run.last(CheckpointCommitted)
        assert slow.seconds > 0.5
        # The steps went on while it was written.
        assert run.status()["step"] - before >= 3
        assert run.pitstop("stop").returncode == 0
        assert finish(process).returncode == 75
        assert_finishes(run, tmp_path, baseline, run.last(CheckpointCommitted).step)


def test_shared_memory_that_is_full(tmp_path: Path, baseline: Baseline) -> None:
    run = KerasRun(tmp_path, "train.py", _SCRIPT_ARGUMENTS, _OFTEN, pace_seconds=_PACE_SECONDS)
    full = "mount -t tmpfs -o size=4k full /dev/shm && head -c 4096 /dev/zero > /dev/shm/ballast"
    process = start_under(run, ["unshare", "--mount", "sh", "-c", f'{full} && exec "$@"', "full"])
    try:
        run.until_training(3)
    except AssertionError:
        pytest.skip(f"no namespace can be made here: {finish(process).stderr.decode()[-200:]}")
    assert run.status()["snapshot_backing"] == "memory"
    assert run.pitstop("stop").returncode == 0
    assert finish(process).returncode == 75
    assert_finishes(run, tmp_path, baseline, run.last(CheckpointCommitted).step)


# It takes 40 s, and failed once without a word on why.
@pytest.mark.torture
def test_a_clock_that_is_set_back(tmp_path: Path, baseline: Baseline) -> None:
    offset = tmp_path / "offset"
    offset.write_text("+0")
    clock = machine.clock_environment(offset)
    # The clock of the supervisor and of the persister, who write times down.  The library that
    # moves it is kept out of TensorFlow's process: it may have been what ended a run once.
    honest = ("env", "-u", "LD_PRELOAD", sys.executable)
    run = KerasRun(tmp_path, "train.py", _SCRIPT_ARGUMENTS, _OFTEN, clock, _PACE_SECONDS, honest)
    process = run.start()
    run.until_training(3)
    assert run.pitstop("checkpoint").returncode == 0
    offset.write_text("-2h")
    assert run.pitstop("checkpoint").returncode == 0
    later, earlier = run.verify()[:2]
    assert later["step"] > earlier["step"]
    assert later["created_seconds"] < earlier["created_seconds"] - 3600
    age_seconds = run.status()["checkpoint_age_seconds"]
    assert age_seconds >= 0
    assert run.pitstop("stop").returncode == 0
    assert finish(process).returncode == 75
    assert_finishes(run, tmp_path, baseline, run.last(CheckpointCommitted).step)
    assert time.time() > run.entries()[-1].time_seconds
