"""Deaths of the trainer, the persister, the supervisor, of all; full disks; rotten checkpoints."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pitstop.events import CheckpointCommitted, CheckpointQuarantined, Restored, StopRequested
from tests.integration.chain import Chain
from tests.integration.compare import assert_identical
from tests.integration.conftest import Baseline, Interpreter
from tests.integration.keras_run import OUT, KerasRun
from tests.integration.supervisor.launch import finish, persister_among, until

_ARGUMENTS = ("--input", "tfdata-shuffle", "--validation")
# Snapshots every few hundred milliseconds, of steps that take a tenth of a second.
_OFTEN = ("--overhead", "20%")
_FEW_STEPS = 15


@pytest.mark.timeout(240)
def test_one_process_after_the_other_is_killed(
    tmp_path: Path, baseline: Baseline, forked: Interpreter
) -> None:
    run = _training(tmp_path, forked)

    trained = run.start()
    run.until_training(14)
    os.kill(run.status()["pid"], signal.SIGKILL)
    ended = finish(trained)
    assert ended.returncode == 128 + signal.SIGKILL
    saved = run.last(CheckpointCommitted, 1)
    # The newest snapshot may have been on its way to the disk already.
    assert saved.reason in ("trainer_lost", "cadence")
    assert 0 <= run.reached_step(1) - saved.step <= _FEW_STEPS
    assert f"saved at step {saved.step}" in ended.stderr.decode()

    supervised = run.start()
    run.until_training(saved.step + 3)
    persister_among(run.processes()).kill()
    assert run.pitstop("checkpoint").returncode == 0  # another persister has taken over
    supervised.kill()
    assert b"resuming at step %d" % saved.step in finish(supervised).stderr
    resumed = run.start()  # at once, while the last attempt is still being saved
    run.until_training(1)
    saved = run.last(CheckpointCommitted, 2)
    assert saved.reason == "supervisor_lost"
    assert run.last(StopRequested, 2).source == "supervisor_lost"
    assert run.last(Restored, 3).step == saved.step

    assert run.pitstop("checkpoint").returncode == 0
    _kill_all(run)
    finish(resumed)
    until(lambda: not run.processes())
    # By its manifest: nobody may have lived long enough to tell of the last one.
    durable = run.verify()[0]["step"]
    assert durable >= run.last(CheckpointCommitted, 3).step

    completed = run.attempt()
    assert completed.returncode == 0, completed.stderr
    assert run.last(Restored, 4).step == durable
    assert_identical(baseline(_ARGUMENTS), tmp_path / OUT)


def _training(folder: Path, interpreter: Interpreter) -> KerasRun:
    arguments = (OUT, *_ARGUMENTS)
    return KerasRun(
        folder, "train.py", arguments, _OFTEN, pace_seconds=0.25, interpreter=interpreter
    )


def _kill_all(run: KerasRun) -> None:
    doomed = run.processes()
    for process in doomed:
        process.suspend()
    for process in doomed:
        process.kill()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """The run folder of a test, on a file system of one megabyte."""
    folder = tmp_path / "run"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "pitstop-test", str(folder)]
    mounted = subprocess.run(mount, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.timeout(180)
def test_disk_that_is_full(
    tmp_path: Path, small_disk: Path, baseline: Baseline, forked: Interpreter
) -> None:
    run = _training(tmp_path, forked)
    process = run.start()
    run.until_training(3)
    assert run.pitstop("checkpoint").returncode == 0
    good = run.last(CheckpointCommitted).step

    ballast = small_disk / "ballast"
    _fill(ballast)
    refused = run.pitstop("checkpoint")
    assert refused.returncode == 1
    assert b"the disk is full" in refused.stderr
    run.until_training(run.status()["step"] + 3)  # training goes on
    os.kill(run.status()["pid"], signal.SIGKILL)
    ended = finish(process)
    assert ended.returncode == 128 + signal.SIGKILL
    assert b"could not be saved" in ended.stderr
    assert b"Training continues" in ended.stderr
    assert next(row["step"] for row in run.verify() if not row["problem"]) == good

    ballast.unlink()
    completed = run.attempt()
    assert completed.returncode == 0, completed.stderr
    assert run.last(Restored).step == good
    assert_identical(baseline(_ARGUMENTS), tmp_path / OUT)


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return


@pytest.mark.fast
def test_newest_checkpoint_that_is_damaged(
    tmp_path: Path, baseline: Baseline, forked: Interpreter
) -> None:
    run = Chain(_ARGUMENTS, "stop@batch:4 kill@batch:9").run_in(tmp_path, forked)
    assert run.attempt().returncode == 75
    assert run.attempt().returncode == 128 + signal.SIGKILL
    newest, before = run.verify()[:2]
    _flip_a_bit(Path(newest["path"]) / "tensors.safetensors", tmp_path)
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert b"a damaged checkpoint was set aside" in ended.stderr
    assert len(run.events(CheckpointQuarantined)) == 1
    restored = run.last(Restored)
    assert (restored.step, restored.lost_steps) == (before["step"], 8 - before["step"])
    assert_identical(baseline(_ARGUMENTS), tmp_path / OUT)


def _flip_a_bit(path: Path, folder: Path) -> None:
    path = folder / path
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def test_a_callback_that_leaves_the_script_at_an_epochs_end_loses_no_step(tmp_path: Path) -> None:
    # With less, epochs this short would not have a cut held at each end.
    run = KerasRun(tmp_path, "callback_leaves.py", options=("--overhead", "50%"))
    # Keyboard interrupt, exit, and the end: the callbacks of an epoch are called again.
    assert [run.attempt().returncode for _ in range(3)] == [130, 3, 0]
    assert [run.saved_step(attempt) for attempt in (1, 2, 3)] == [20, 40, 60]
    assert [each.step for each in run.events(Restored)] == [20, 40]
