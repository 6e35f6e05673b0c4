"""Stops from outside: wherever the script is, it ends soon, saved, and goes on to the same bits."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import pytest

from pitstop.events import (
    AttemptEnded,
    CheckpointCommitted,
    EnvironmentChanged,
    FitRestored,
    Restored,
    StopDeadlinePassed,
    StopRequested,
    TrainerStopped,
)
from tests.integration.compare import assert_identical
from tests.integration.conftest import Baseline, Interpreter
from tests.integration.keras_run import OUT, Ended, KerasRun, Started, seconds_to_end
from tests.integration.supervisor.launch import persister_among, until, until_line

# A step, and what TensorFlow needs to take itself down on a busy machine.
_SOON_SECONDS = 10.0
_DECIDING = ("--validation", "--callbacks")


def _assert_stopped(
    run: KerasRun, process: Started, within_seconds: float = _SOON_SECONDS
) -> Ended:
    """The run ends in time, its newest checkpoint is whole, and nobody is left behind."""
    ended, seconds = seconds_to_end(process)
    assert ended.returncode == 75, ended.stderr
    assert seconds < within_seconds
    assert run.processes() == []
    assert run.last(AttemptEnded).state == "stopped"
    assert all(row["problem"] == "" for row in run.verify())
    return ended


def _assert_completed(run: KerasRun, expected: Path) -> None:
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert_identical(expected, run.folder / OUT)


@pytest.mark.timeout(240)
def test_every_way_to_ask_in_mid_epoch(
    tmp_path: Path, baseline: Baseline, forked: Interpreter
) -> None:
    arguments = ("--input", "numpy", *_DECIDING)
    run = KerasRun(tmp_path, "train.py", (OUT, *arguments), pace_seconds=0.25, interpreter=forked)
    for attempt, number in enumerate((signal.SIGINT, signal.SIGTERM), start=1):
        process = run.start()
        run.until_training(12 * attempt)
        process.send_signal(number)
        ended = _assert_stopped(run, process)
        assert run.last(StopRequested).signal == number.name
        assert run.saved_step(attempt) == run.reached_step(attempt)
        assert f"saved at step {run.saved_step(attempt)}" in ended.stderr.decode()

    process = run.start()
    run.until_training(36)
    answer = run.pitstop("stop")
    _assert_stopped(run, process)
    assert f"saved at step {run.saved_step(3)}" in answer.stdout.decode()
    assert run.saved_step(3) == run.last(TrainerStopped).step

    process = run.start()
    run.until_training(46)
    run.pitstop("stop", "--now")
    _assert_stopped(run, process)
    assert run.last(StopRequested).urgency == "now"
    assert (run.saved_step(4) or 0) <= run.reached_step(4)
    _assert_completed(run, baseline(arguments))


@pytest.mark.timeout(240)
def test_while_the_input_stalls(tmp_path: Path, baseline: Baseline, forked: Interpreter) -> None:
    arguments = ("--input", "stalling")
    gate = tmp_path / "gate"
    run = KerasRun(
        tmp_path, "train.py", (OUT, *arguments), environment={"GATE": str(gate)}, interpreter=forked
    )
    # The input is read ahead: it stands still some steps before the training does.
    process = run.start()
    run.until_training(25)
    process.send_signal(signal.SIGTERM)
    _assert_stopped(run, process, within_seconds=15.0)
    assert run.last(StopDeadlinePassed).phase == "train"

    process = run.start()
    run.until_training(25)
    process.send_signal(signal.SIGINT)
    until(lambda: run.events(StopRequested, 2))
    process.send_signal(signal.SIGINT)
    _assert_stopped(run, process, within_seconds=5.0)
    assert [event.urgency for event in run.events(StopRequested, 2)] == ["graceful", "now"]

    gate.touch()
    _assert_completed(run, baseline(arguments))
    assert run.last(Restored).step == run.saved_step(2)


def test_during_validation(tmp_path: Path, baseline: Baseline, forked: Interpreter) -> None:
    arguments = ("--input", "tfdata", *_DECIDING)
    run = KerasRun(
        tmp_path, "train.py", (OUT, *arguments, "--validation-pace", "0.2"), interpreter=forked
    )
    process = run.start()
    run.until_phase("validation")
    process.send_signal(signal.SIGTERM)
    _assert_stopped(run, process)
    stopped = run.last(TrainerStopped)
    assert (stopped.phase, stopped.step % 20, stopped.step_in_epoch) == ("validation", 0, 20)
    assert run.saved_step(1) == stopped.step
    quick = replace(run, arguments=(OUT, *arguments), options=(*run.options, "--force"))
    _assert_completed(quick, baseline(arguments))


@pytest.mark.fast
def test_during_predict(tmp_path: Path, forked: Interpreter) -> None:
    run = KerasRun(tmp_path, "predicts.py", ("0.2",), interpreter=forked)
    process = run.start()
    run.until_phase("predict")
    process.send_signal(signal.SIGTERM)
    ended = _assert_stopped(run, process)
    stopped = run.last(TrainerStopped)
    assert (stopped.phase, stopped.step, run.saved_step(1)) == ("predict", 20, 20)
    assert run.events(StopDeadlinePassed) == []
    assert b"predicted" not in ended.stdout
    quick = replace(run, arguments=("0",)).attempt("--force")
    assert quick.returncode == 0, quick.stderr
    assert b"predicted 3200" in quick.stdout
    assert run.last(FitRestored).step == 20


@pytest.mark.timeout(240)
def test_during_a_save_and_a_resume(
    tmp_path: Path, baseline: Baseline, forked: Interpreter
) -> None:
    arguments = ("--input", "stalling", "--epochs", "2")
    gate = tmp_path / "gate"
    gate.touch()
    run = KerasRun(
        tmp_path,
        "train.py",
        (OUT, *arguments),
        ("--every", "1steps"),
        {"GATE": str(gate)},
        interpreter=forked,
    )
    process = replace(run, pace_seconds=0.25).start()
    run.until_training(27)
    persister = persister_among(run.processes())
    persister.suspend()
    run.until_unsaved()
    process.send_signal(signal.SIGTERM)
    until(lambda: run.events(StopRequested, 1))
    persister.resume()
    _assert_stopped(run, process)
    step = run.last(TrainerStopped, 1).step
    assert run.saved_step(1) == step == run.reached_step(1)

    gate.unlink()
    process = run.start()
    # The input waits in front of its 26th batch, which is drawn again.
    until(lambda: run.status()["replayed_batches"] == 25)
    process.send_signal(signal.SIGTERM)
    until(lambda: run.events(StopRequested, 2))
    gate.touch()
    _assert_stopped(run, process)
    stopped = run.last(TrainerStopped, 2)
    assert (stopped.phase, stopped.step) == ("restoring", step)
    assert run.events(CheckpointCommitted, 2) == []
    _assert_completed(run, baseline(arguments))
    assert run.last(Restored).step == step


def test_while_the_first_step_is_traced(tmp_path: Path, forked: Interpreter) -> None:
    run = KerasRun(tmp_path, "slow_compile.py", ("20",), interpreter=forked)
    process = run.start()
    until_line(process, b"tracing")
    process.send_signal(signal.SIGINT)
    ended = _assert_stopped(run, process)
    assert run.last(StopDeadlinePassed).phase == "first_step"
    assert b"nothing was saved" in ended.stderr
    assert run.saved_step(1) is None
    quick = replace(run, arguments=("0",))
    assert quick.attempt().returncode == 0
    assert quick.reached_step(2) == 60


def test_before_fit(tmp_path: Path, forked: Interpreter) -> None:
    run = KerasRun(tmp_path, "sleeps_before_fit.py", ("60",), interpreter=forked)
    process = run.start()
    until_line(process, b"preparing data")
    process.send_signal(signal.SIGTERM)
    _assert_stopped(run, process)
    assert run.events(CheckpointCommitted) == []
    assert replace(run, arguments=("0",)).attempt().returncode == 0
    assert run.reached_step(2) == 60
    assert run.events(EnvironmentChanged) == []  # nothing was saved that it could change


def test_between_fits_and_after_the_last(
    tmp_path: Path, baseline: Baseline, forked: Interpreter
) -> None:
    arguments = ("--input", "numpy", "--epochs", "1", "--fits", "2")
    faults = {"FAULTS": "wait@fit:1 wait@fit:2", "FAULTS_DONE": str(tmp_path / "faults")}
    run = KerasRun(
        tmp_path, "train.py", (OUT, *arguments), ("--grace", "2s"), faults, interpreter=forked
    )
    for attempt, step in ((1, 20), (2, 40)):
        process = run.start()
        until_line(process, b"waiting")
        process.send_signal(signal.SIGTERM)
        _assert_stopped(run, process)
        assert run.last(StopDeadlinePassed).phase == "between_fits"
        assert run.saved_step(attempt) == step
    _assert_completed(run, baseline(arguments))
    assert [event.step for event in run.events(FitRestored, 3)] == [20, 40]
