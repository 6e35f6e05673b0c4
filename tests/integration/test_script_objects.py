"""Objects of a script, of many kinds in one training."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.events import LevelKnown, Restored
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import SCRIPTS, KerasRun
from tests.integration.supervisor.launch import run_alone


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("script", "steps"),
    [
        ("holds_objects.py", (8, 27)),
        ("accumulates.py", (5, 15)),
        ("prepares_once.py", (5, 15)),
        ("renames_files.py", (11, 23)),
    ],
)
def test_a_training_that_objects_steer_is_the_same_when_it_is_killed_twice(
    script: str, steps: tuple[int, int], tmp_path: Path, forked: Interpreter
) -> None:
    run_alone(tmp_path, *forked, SCRIPTS / script, "plain")
    run = KerasRun(tmp_path, script, ("out",), ("--every", "2steps"), interpreter=forked)
    for step in map(str, steps):
        assert run.attempt("--die-at-step", step).returncode != 0
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert run.last(Restored).level == "exact", run.last(Restored).reason
    assert (tmp_path / "out").read_bytes() == (tmp_path / "plain").read_bytes()


@pytest.mark.parametrize("words", [("loop",), ("fit", "scaled")], ids=" ".join)
def test_what_data_have_left_that_an_earlier_attempt_prepared_is_told(
    words: tuple[str, ...], tmp_path: Path, forked: Interpreter
) -> None:
    steps = ("--every", "2steps")
    run = KerasRun(tmp_path, "prepares_once.py", ("out", *words), steps, interpreter=forked)
    assert run.attempt("--die-at-step", "7").returncode != 0
    assert run.attempt().returncode == 0
    assert run.last(LevelKnown).level == "not_exact"
    assert "prepared.npy" in run.last(LevelKnown).reason


@pytest.mark.parametrize(
    "words",
    [("fit",), ("fit", "global"), ("fit", "scaled"), ("loop",), ("loop", "global"), ("start",)],
    ids=" ".join,
)
def test_a_training_of_which_nothing_was_saved_is_not_exact_after_data_that_were_prepared(
    words: tuple[str, ...], tmp_path: Path, forked: Interpreter
) -> None:
    run = KerasRun(tmp_path, "prepares_once.py", ("out", *words), interpreter=forked)
    for _ in range(2):
        assert run.attempt("--die-at-step", "1").returncode != 0
    assert not list((tmp_path / "run" / "checkpoints").glob("*"))
    assert run.attempt().returncode == 0
    assert run.last(LevelKnown).level == "not_exact"
    assert "prepared.npy" in run.last(LevelKnown).reason


@pytest.mark.parametrize("word", ["fit", "loop", "start"])
def test_data_that_an_attempt_prepared_before_it_could_train_are_told(
    word: str, tmp_path: Path, forked: Interpreter
) -> None:
    run = KerasRun(tmp_path, "prepares_once.py", ("out", word, "dies"), interpreter=forked)
    for options in ((), ("--die-at-step", "1")):
        assert run.attempt(*options).returncode != 0
    assert run.attempt().returncode == 0
    assert run.last(LevelKnown).level == "not_exact"
    assert "prepared.npy" in run.last(LevelKnown).reason


def test_a_training_of_which_nothing_was_saved_is_exact_without_such_data(
    tmp_path: Path, forked: Interpreter
) -> None:
    run_alone(tmp_path, *forked, SCRIPTS / "accumulates.py", "plain")
    run = KerasRun(tmp_path, "accumulates.py", ("out",), interpreter=forked)
    assert run.attempt("--die-at-step", "1").returncode != 0
    assert run.attempt().returncode == 0
    assert run.last(LevelKnown).level == "exact"
    assert (tmp_path / "out").read_bytes() == (tmp_path / "plain").read_bytes()
