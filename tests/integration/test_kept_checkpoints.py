"""Checkpoints that are kept for their name or their metrics, in a real training."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pitstop.events import CheckpointCommitted, EpochEnded, Restored
from tests.integration.compare import assert_identical
from tests.integration.conftest import Baseline, Interpreter
from tests.integration.keras_run import OUT, KerasRun
from tests.integration.supervisor.launch import finish

_ARGUMENTS = ("--input", "tfdata-shuffle", "--validation")
_KEEP = ("--overhead", "20%", "--keep", "1", "--keep-best", "val_loss:1")


def _list(run: KerasRun) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(run.pitstop("checkpoints", "list", "--json").stdout)
    return rows


@pytest.mark.timeout(180)
def test_the_best_epoch_and_a_named_one_are_kept_and_resumed_from(
    tmp_path: Path, baseline: Baseline, forked: Interpreter
) -> None:
    run = KerasRun(
        tmp_path, "train.py", (OUT, *_ARGUMENTS), _KEEP, pace_seconds=0.25, interpreter=forked
    )
    process = run.start()
    run.until_training(3)
    named = run.pitstop("checkpoint", "--name", "early")
    assert b"named early" in named.stdout
    assert b"already has the name early" in run.pitstop("checkpoint", "--name", "early").stderr
    run.until_training(45)
    assert run.pitstop("stop").returncode == 0
    assert finish(process).returncode == 75

    rows = {reason: row for row in _list(run) for reason in row["kept"]}
    assert rows["named"]["name"] == "early"
    best = rows["best val_loss"]
    ended = min(run.events(EpochEnded), key=lambda event: event.logs["val_loss"])
    assert (best["epoch"], best["metrics"]) == (ended.epoch + 1, ended.logs)
    assert best["step_in_epoch"] == ended.steps
    assert not any(row["problem"] for row in run.verify())

    # As if what is newer had been lost: the validation of that epoch is gone through again.
    for row in _list(run):
        if row["sequence"] > best["sequence"]:
            shutil.rmtree(tmp_path / row["path"])
    completed = run.attempt()
    assert completed.returncode == 0, completed.stderr
    assert run.last(Restored).step == best["step"]
    # The cadence may save that step once more, but nobody takes it for a new best one.
    again = [each for each in run.events(CheckpointCommitted, 2) if each.step == best["step"]]
    assert "best" not in [each.reason for each in again]
    assert_identical(baseline(_ARGUMENTS), tmp_path / OUT)
