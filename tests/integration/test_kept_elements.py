"""Pipelines that keep their elements in files, which a killed attempt has completed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.events import LevelKnown, Restored
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import SCRIPTS, KerasRun
from tests.integration.supervisor.launch import run_alone

_SCRIPT = "keeps_elements.py"


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("form", "deaths"),
    [("cache", ("15",)), ("snapshot", ("15",)), ("both", ("5",))],
)
def test_a_shuffle_before_a_file_that_is_read_elsewhere_is_told(
    form: str, deaths: tuple[str, ...], tmp_path: Path, forked: Interpreter
) -> None:
    run = KerasRun(tmp_path, _SCRIPT, ("out", form), ("--every", "2steps"), interpreter=forked)
    for step in deaths:
        assert run.attempt("--die-at-step", step).returncode != 0
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    # When TensorFlow completes the file, it may take one seed more or less.
    level = run.last(LevelKnown)
    assert level.level == "not_exact"
    assert "not repeatable" in level.reason


def test_code_with_state_before_a_file_makes_a_resume_not_exact(
    tmp_path: Path, forked: Interpreter
) -> None:
    steps = ("--every", "7steps")
    run = KerasRun(tmp_path, _SCRIPT, ("out", "code", "dies"), steps, interpreter=forked)
    assert run.attempt().returncode != 0
    assert run.attempt().returncode == 0
    assert run.last(Restored).level == "not_exact"


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("words", "step"),
    [
        (("cache", "begin"), "1"),
        (("snapshot", "begin"), "1"),
        (("code", "begin"), "1"),
        (("cache", "early"), "1"),
        (("cache", "early"), "15"),
        (("snapshot", "early"), "15"),
    ],
)
def test_a_file_that_no_saved_training_has_filled_is_told(
    words: tuple[str, ...], step: str, tmp_path: Path, forked: Interpreter
) -> None:
    run = KerasRun(tmp_path, _SCRIPT, ("out", *words), interpreter=forked)
    assert run.attempt("--die-at-step", step).returncode != 0
    assert bool(list((tmp_path / "run" / "checkpoints").glob("*"))) is (step != "1")
    assert run.attempt().returncode == 0
    level = run.last(LevelKnown)
    assert level.level == "not_exact"
    assert "out.kept" in level.reason


@pytest.mark.timeout(300)
@pytest.mark.parametrize("form", ["saved", "counted"])
@pytest.mark.parametrize("step", ["1", "15"])
def test_a_shuffle_that_only_an_earlier_attempt_has_read_is_told(
    form: str, step: str, tmp_path: Path, forked: Interpreter
) -> None:
    run = KerasRun(tmp_path, _SCRIPT, ("out", form), interpreter=forked)
    assert run.attempt("--die-at-step", step).returncode != 0
    assert run.attempt().returncode == 0
    assert run.last(LevelKnown).level == "not_exact"
    assert "shuffle" in run.last(LevelKnown).reason


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("words", "step"), [(("cache", "early"), "1"), (("cache", "early"), "15"), (("saved",), "15")]
)
def test_a_shuffle_that_only_fills_a_file_has_no_next_order(
    words: tuple[str, ...], step: str, tmp_path: Path, forked: Interpreter
) -> None:
    run_alone(tmp_path, *forked, SCRIPTS / _SCRIPT, "plain", *words, "alone")
    run = KerasRun(tmp_path, _SCRIPT, ("out", *words, "alone"), interpreter=forked)
    assert run.attempt("--die-at-step", step).returncode != 0
    assert run.attempt().returncode == 0
    assert run.last(LevelKnown).level != "not_exact"
    assert (tmp_path / "out").read_bytes() == (tmp_path / "plain").read_bytes()
