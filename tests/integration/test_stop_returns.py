"""`--on-stop return`: the script goes on behind its stopped `fit`, and nothing more is trained."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from pitstop.events import (
    AttemptEnded,
    CheckpointCommitted,
    FitStarted,
    Notice,
    Restored,
    ScriptEnded,
    TrainerStopped,
)
from tests.integration.compare import assert_identical
from tests.integration.conftest import Baseline, Interpreter
from tests.integration.keras_run import OUT, KerasRun
from tests.integration.supervisor.launch import PITSTOP, finish

_DECIDING = ("--input", "tfdata-shuffle", "--validation", "--callbacks", "--fits", "2")
_RETURN = ("--on-stop", "return")

pytestmark = pytest.mark.timeout(240)


def test_the_script_runs_to_its_end_and_a_resume_to_the_same_bits(
    tmp_path: Path, baseline: Baseline, forked: Interpreter
) -> None:
    arguments = (*_DECIDING, "--epochs", "2")
    run = KerasRun(
        tmp_path, "train.py", (OUT, *arguments), _RETURN, pace_seconds=0.25, interpreter=forked
    )
    for attempt, step in ((1, 25), (2, 55)):
        process = run.start()
        run.until_training(step)
        process.send_signal(signal.SIGTERM)
        ended = finish(process)
        assert ended.returncode == 75, ended.stderr
        # It went on behind the fit, to its last line.
        assert (tmp_path / OUT).exists()
        (tmp_path / OUT).unlink()
        assert len(run.events(ScriptEnded, attempt)) == 1
        assert run.last(AttemptEnded, attempt).state == "stopped"
        stopped = run.last(TrainerStopped, attempt)
        saved = run.events(CheckpointCommitted, attempt)[-1]
        assert (saved.step, saved.reason) == (stopped.step, "stop")
        assert run.processes() == []
    # The second fit of the first attempt trained nothing, and the user was told.
    assert [event.fit for event in run.events(FitStarted, 1)] == [0]
    assert [event.code for event in run.events(Notice, 1)].count("trains_nothing") == 1
    assert run.attempt().returncode == 0
    assert run.last(Restored).step == run.saved_step(2)
    assert_identical(baseline(arguments), tmp_path / OUT)


@pytest.mark.parametrize(
    ("point", "phase", "fits"), [("stop@test:3", "validation", 1), ("stop@fit:1", "train", 2)]
)
def test_during_validation_and_between_fits(
    tmp_path: Path, baseline: Baseline, forked: Interpreter, point: str, phase: str, fits: int
) -> None:
    arguments = (*_DECIDING, "--epochs", "1")
    run = _stopped_at(tmp_path, forked, point, arguments)
    ended = run.attempt()
    assert ended.returncode == 75, ended.stderr
    stopped = run.last(TrainerStopped, 1)
    assert (stopped.phase, stopped.step) == (phase, 20)
    assert len(run.events(FitStarted, 1)) == fits
    assert len(run.events(ScriptEnded, 1)) == 1
    assert run.attempt().returncode == 0
    assert_identical(baseline(arguments), tmp_path / OUT)


def test_files_that_callbacks_close_at_the_end_go_on(
    tmp_path: Path, baseline: Baseline, forked: Interpreter
) -> None:
    arguments = ("--input", "numpy", "--logs", "--epochs", "2")
    run = _stopped_at(tmp_path, forked, "stop@batch:5 stop@batch:30", arguments)
    assert [run.attempt().returncode for _ in range(3)] == [75, 75, 0]
    expected = baseline(arguments)
    assert_identical(expected, tmp_path / OUT)
    for name in ("epochs.csv", "batches.jsonl"):
        assert (tmp_path / name).read_bytes() == (expected.parent / name).read_bytes()


def test_a_script_that_was_asked_after_its_last_fit_is_complete(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = _stopped_at(tmp_path, forked, "stop@fit:1", ("--input", "numpy", "--epochs", "1"))
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert run.last(AttemptEnded).state == "completed"


def _stopped_at(
    folder: Path, python: Interpreter, points: str, arguments: tuple[str, ...]
) -> KerasRun:
    environment = {
        "FAULTS": points,
        "FAULTS_DONE": str(folder / "faults"),
        "STOP_COMMAND": f"{' '.join(PITSTOP)} stop run --no-wait",
    }
    options = (*_RETURN, "--overhead", "50%")
    return KerasRun(folder, "train.py", (OUT, *arguments), options, environment, interpreter=python)
