"""Real trainings in which a number goes bad, and `--on-nan rollback`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pitstop.events import BatchSkipped, LevelKnown, Restored, RollbackRefused, RolledBack
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import KerasRun

ROLLBACK = ("--on-nan", "rollback")


def test_a_batch_with_a_bad_record_is_left_out_and_kept_for_a_look(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = KerasRun(tmp_path, "nan_recovers.py", ("record",), ROLLBACK, interpreter=forked)
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert b"finite weights: True rate: 0.01" in ended.stdout
    (back,) = run.events(RolledBack)
    assert (back.step, back.action, back.rollback) == (8, "skip", 1)
    assert back.to_step < 8
    (skipped,) = run.events(BatchSkipped)
    assert (skipped.step, skipped.step_in_epoch) == (8, 8)
    assert skipped.found == ["x: 1 NaN of 256 values, the first at [3, 0]"]
    with np.load(skipped.file) as kept:
        assert np.isnan(kept["x"]).sum() == 1
        assert kept["y"].shape == (32, 1)
    level = run.events(LevelKnown)[-1]
    assert level.level == "not_exact"
    assert "the batch of step 8 is skipped" in level.reason


@pytest.mark.parametrize(
    ("kind", "actions"),
    [("unseen", ["look", "skip"]), ("rate", ["rate"]), ("schedule", ["clip"])],
    ids=["unseen", "rate", "schedule"],
)
def test_what_no_loss_shows_and_what_the_rate_has_done(
    tmp_path: Path, forked: Interpreter, kind: str, actions: list[str]
) -> None:
    run = KerasRun(tmp_path, "nan_recovers.py", (kind,), ROLLBACK, interpreter=forked)
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert b"finite weights: True" in ended.stdout
    backs = run.events(RolledBack)
    assert [each.action for each in backs][: len(actions)] == actions
    assert backs[-1].action == actions[-1]
    if kind == "unseen":
        assert backs[-1].step == 8


def test_gradients_stay_clipped_behind_a_kill(tmp_path: Path, forked: Interpreter) -> None:
    runs = []
    for name, options in (("whole", ()), ("killed", ("--die-at-step", "12"))):
        (tmp_path / name).mkdir()
        run = KerasRun(tmp_path / name, "nan_recovers.py", ("schedule",), ROLLBACK, {}, 0.0, forked)
        runs.append((run, run.attempt(*options)))
    (whole, ended), (killed, died) = runs
    assert [each.action for each in killed.events(RolledBack)] == ["clip"]
    assert (ended.returncode, died.returncode) == (0, 137)
    again = killed.attempt()
    assert killed.last(Restored).step > 0
    assert again.stdout.splitlines()[-1] == ended.stdout.splitlines()[-1]
    assert again.stdout.splitlines()[-1].startswith(b"weights: ")
    for each in (whole, killed):
        reason = each.last(LevelKnown).reason
        assert "gradients are clipped to a global norm of 1 from step 0 on" in reason


@pytest.mark.parametrize(
    ("kind", "why"),
    [("clips", "the optimizer clips them already"), ("own", "does not use the optimizer")],
)
def test_what_cannot_be_clipped_is_said(
    tmp_path: Path, forked: Interpreter, kind: str, why: str
) -> None:
    run = KerasRun(tmp_path, "nan_recovers.py", (kind,), ROLLBACK, interpreter=forked)
    assert run.attempt().returncode == 1
    (refused,) = run.events(RollbackRefused)
    assert refused.reason.startswith("the learning rate follows a schedule")
    assert refused.reason.endswith(why)


def test_a_run_that_was_rolled_back_often_enough_ends_as_failed_for_good(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = KerasRun(
        tmp_path, "nan_every_batch.py", (), (*ROLLBACK, "--rollbacks", "1"), interpreter=forked
    )
    for attempts in (2, 3):
        ended = run.attempt()
        assert ended.returncode == 1
        assert len(run.events(RolledBack)) == 1
        assert len(run.events(RollbackRefused)) == attempts - 1
    assert run.why()["cause"] == "nan_loss"
