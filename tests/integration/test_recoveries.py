"""The examples of recoveries, as their headers say, each with the fault that it makes itself."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pitstop.events import (
    BatchSkipped,
    LevelKnown,
    RestartPlanned,
    Restored,
    RolledBack,
    TrainingStalled,
    WorkerDied,
)
from tests.integration.compare import assert_identical
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import SCRIPTS, KerasRun
from tests.integration.supervisor import launch

EXAMPLES = Path(__file__).parents[2] / "examples"
SKIPS = ("--on-bad-record", "skip")

pytestmark = pytest.mark.timeout(300)


def _run(folder: Path, name: str, *options: str) -> KerasRun:
    folder.mkdir(exist_ok=True)
    return KerasRun(folder, str(EXAMPLES / name), (), options)


def _twice(run: KerasRun) -> tuple[KerasRun, KerasRun]:
    """The same run in two folders: one is left alone, one is killed."""
    whole, killed = run.folder / "whole", run.folder / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    return replace(run, folder=whole), replace(run, folder=killed)


@pytest.mark.xdist_group("hangs")
def test_a_killed_data_worker_costs_seconds_and_no_bit(tmp_path: Path, forked: Interpreter) -> None:
    whole, struck = tmp_path / "whole", tmp_path / "struck"
    whole.mkdir()
    (whole / "worker-died").touch()
    launch.run_alone(whole, *forked, EXAMPLES / "recover_data_worker.py")
    run = _run(struck, "recover_data_worker.py", "--restarts", "3")
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    (stall,), (died,) = run.events(TrainingStalled), run.events(WorkerDied)
    assert (died.signal, stall.action) == ("SIGKILL", "restart")
    assert stall.seconds < 30
    assert [each.cause for each in run.events(RestartPlanned)] == ["hang_or_stall"]
    assert run.last(Restored).step > 0
    assert_identical(whole / "worker.npz", struck / "worker.npz")
    first = json.loads(run.pitstop("why", "--json").stdout)["attempts"][0]
    assert f"{died.pid}" in first["summary"]


@pytest.mark.torture
def test_a_read_that_fails_once_is_tried_again_and_costs_no_bit(tmp_path: Path) -> None:
    whole, struck = tmp_path / "whole", tmp_path / "struck"
    for folder in (whole, struck):
        folder.mkdir()
    words = (sys.executable, SCRIPTS / "hangs.py", "read", "gate", "out.npz")
    (whole / "gate").touch()
    launch.run_alone(whole, *words)
    run = KerasRun(struck, "hangs.py", ("read", "gate", "out.npz"), ("--restarts", "3"))
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert [each.cause for each in run.events(RestartPlanned)] == ["data_error"]
    assert run.last(Restored).step > 0
    assert_identical(whole / "out.npz", struck / "out.npz")


def test_a_record_that_cannot_be_read_is_left_out_and_a_kill_changes_nothing(
    tmp_path: Path, forked: Interpreter
) -> None:
    script, options = str(EXAMPLES / "recover_record.py"), (*SKIPS, "--every", "4steps")
    run = KerasRun(tmp_path, script, (), options, interpreter=forked)
    whole, killed = _twice(run)
    ended = whole.attempt()
    assert ended.returncode == 0, ended.stderr
    every = whole.events(BatchSkipped)
    unseen = [each for each in every if each.in_validation]
    assert [(each.epoch, each.step, each.step_in_epoch) for each in unseen] == [
        (epoch, 20 * (epoch + 1), 5) for epoch in range(3)
    ]
    assert b"batch 5 of the validation after step 20 is skipped" in ended.stderr
    skipped = [each for each in every if not each.in_validation]
    assert [each.epoch for each in skipped] == [0, 1, 2]
    assert "JPEG" in skipped[0].found[0]
    assert whole.last(LevelKnown).level == "not_exact"
    listed = (whole.folder / "run" / "attempts" / "1" / "skipped-records.txt").read_text()
    assert [line.split(",")[0] for line in listed.splitlines()] == [
        f"step {each.step}" for each in every
    ]
    assert listed.count("batch 5 of the validation: ") == 3
    # Behind the bad batches of two epochs; that of the second is read again.
    assert killed.attempt("--die-at-step", "33").returncode == 137
    again = killed.attempt()
    assert again.returncode == 0, again.stderr
    assert b"weights: " in ended.stdout
    assert again.stdout.splitlines()[-2:] == ended.stdout.splitlines()[-2:]


@pytest.mark.torture
def test_a_batch_of_a_sequence_that_raises_is_left_out_and_a_kill_changes_nothing(
    tmp_path: Path,
) -> None:
    whole, killed = _twice(KerasRun(tmp_path, "bad_sequence.py", ("out.npz",), SKIPS))
    ended = whole.attempt()
    assert ended.returncode == 0, ended.stderr
    skipped = whole.events(BatchSkipped)
    assert [each.found for each in skipped] == [
        ["index 5: OSError: image file 5.jpg is truncated"]
    ] * 3
    assert whole.last(LevelKnown).level == "not_exact"
    # Behind the batch of an epoch, so that it is drawn again.
    assert killed.attempt("--die-at-step", str(skipped[1].step + 2)).returncode == 137
    again = killed.attempt()
    assert again.returncode == 0, again.stderr
    assert_identical(whole.folder / "out.npz", killed.folder / "out.npz")


@pytest.mark.torture
def test_a_record_with_a_nan_is_left_out(tmp_path: Path) -> None:
    run = _run(tmp_path, "recover_nan.py", "--on-nan", "rollback")
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert b"finite weights: True, last loss: nan" not in ended.stdout
    assert b"finite weights: True" in ended.stdout
    assert {each.action for each in run.events(RolledBack)} == {"skip"}
