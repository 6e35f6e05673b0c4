"""Pipelines that keep their elements in files, which a killed attempt has completed."""

from __future__ import annotations

import shutil
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
    [("cache", ("15", "25")), ("snapshot", ("15", "25")), ("both", ("5", "17", "36"))],
)
def test_a_shuffle_before_a_file_goes_on_with_its_next_order(
    form: str, deaths: tuple[str, ...], tmp_path: Path, forked: Interpreter
) -> None:
    run_alone(tmp_path, *forked, SCRIPTS / _SCRIPT, "plain", form)
    run = KerasRun(tmp_path, _SCRIPT, ("out", form), ("--every", "2steps"), interpreter=forked)
    for step in deaths:
        assert run.attempt("--die-at-step", step).returncode != 0
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "out").read_bytes() == (tmp_path / "plain").read_bytes()


def test_code_with_state_before_a_file_makes_a_resume_not_exact(
    tmp_path: Path, forked: Interpreter
) -> None:
    steps = ("--every", "7steps")
    run = KerasRun(tmp_path, _SCRIPT, ("out", "code"), steps, interpreter=forked)
    assert run.attempt("--die-at-step", "12").returncode != 0
    assert run.attempt().returncode == 0
    assert run.last(Restored).level == "not_exact"


@pytest.mark.parametrize("form", ["cache", "snapshot", "code"])
def test_a_file_that_was_completed_before_any_state_was_saved_is_told(
    form: str, tmp_path: Path, forked: Interpreter
) -> None:
    rare = ("--every", "100steps")
    run = KerasRun(tmp_path, _SCRIPT, ("out", form), rare, interpreter=forked)
    assert run.attempt("--die-at-step", "15").returncode != 0
    # As if the attempt had ended before its first state was saved.
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    (tmp_path / "run" / "checkpoints").mkdir()
    assert run.attempt().returncode == 0
    level = run.last(LevelKnown)
    assert level.level == "not_exact"
    assert "completed" in level.reason
