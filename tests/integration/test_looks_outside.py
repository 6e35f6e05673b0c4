"""State outside of the process: what a training reads back makes a resume inexact, and is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pitstop.events import FitRestored, LevelKnown, Restored
from tests.integration.compare import assert_identical
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import OUT, KerasRun

_KILLED = 128 + 9


@pytest.mark.parametrize(
    ("way", "named"),
    [
        ("tensorflow", "count"),
        ("files", "file-"),
        ("mark", "mark"),
        ("environment", "COUNT"),
        ("secrets", "looks_outside.py"),
        ("logs", ""),
        ("name", ""),
    ],
)
def test_what_is_read_back_is_named(
    way: str, named: str, tmp_path: Path, forked: Interpreter
) -> None:
    options = ("--every", "15steps", "--overhead", "0.0001%")
    run = KerasRun(tmp_path, "looks_outside.py", (way,), options, interpreter=forked)
    # Behind the end of the first epoch, at 20, which the state of 15 does not know.
    assert run.attempt("--die-at-step", "24").returncode == _KILLED
    assert run.attempt().returncode == 0
    assert run.last(Restored).step == 15
    known = run.last(LevelKnown)
    assert known.level == ("not_exact" if named else "exact")
    assert named in known.reason


def test_what_an_attempt_left_that_had_saved_nothing_is_named(
    tmp_path: Path, forked: Interpreter
) -> None:
    options = ("--every", "1000steps")
    run = KerasRun(tmp_path, "looks_outside.py", ("files",), options, interpreter=forked)
    assert run.attempt("--die-at-step", "24", "--overhead", "0.0001%").returncode == _KILLED
    for path in (tmp_path / "run" / "checkpoints").glob("*"):
        shutil.rmtree(path)
    assert run.attempt().returncode == 0
    assert not run.events(Restored)
    known = run.last(LevelKnown)
    assert known.level == "not_exact"
    assert "file-" in known.reason
    assert "has left" in known.reason


@pytest.mark.parametrize("way", ["weights", "model", "callback"])
def test_a_file_that_a_later_training_overwrote_is_given_back(
    way: str, tmp_path: Path, forked: Interpreter
) -> None:
    options = ("--every", "5steps")
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    whole = KerasRun(tmp_path / "whole", "best_of_cycles.py", (way,), options, interpreter=forked)
    assert whole.attempt().returncode == 0
    run = KerasRun(tmp_path / "killed", "best_of_cycles.py", (way,), options, interpreter=forked)
    # Each training has 20 steps; the third and the last have written their file at 50 and 70.
    for step in (57, 59, 73):
        assert run.attempt("--die-at-step", str(step)).returncode == _KILLED
    assert run.attempt().returncode == 0
    assert run.last(FitRestored, 4).step == 60
    assert run.last(LevelKnown).level == "exact"
    assert_identical(whole.folder / OUT, run.folder / OUT)
    assert not [*tmp_path.rglob("*.pitstop-interrupted")]


def test_a_training_that_starts_over_from_a_backup_of_its_own_is_not_exact(
    tmp_path: Path, forked: Interpreter
) -> None:
    options = ("--every", "1000steps")
    run = KerasRun(tmp_path, "keeps_backups.py", options=options, interpreter=forked)
    assert run.attempt("--die-at-step", "24").returncode == _KILLED
    assert run.last(LevelKnown).level == "exact"
    # As if the kill had come before the first snapshot, which is a matter of time.
    for saved in (tmp_path / "run" / "checkpoints").iterdir():
        shutil.rmtree(saved)
    assert run.attempt().returncode == 0
    known = run.last(LevelKnown)
    assert known.level == "not_exact"
    assert "backup" in known.reason
