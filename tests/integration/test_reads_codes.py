"""Inputs whose zeros a model cannot be run on: the step before a resume uses made-up data."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.events import Restored
from tests.integration.compare import assert_identical
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import OUT, KerasRun

_KILLED = 128 + 9


@pytest.mark.parametrize("way", ["texts", "codes"])
def test_a_training_goes_on_that_cannot_be_run_on_zeros(
    way: str, tmp_path: Path, forked: Interpreter
) -> None:
    folders = [tmp_path / "whole", tmp_path / "killed"]
    for folder in folders:
        folder.mkdir()
    options = ("--every", "4steps")
    whole, killed = (
        KerasRun(folder, "reads_codes.py", (way,), options, interpreter=forked)
        for folder in folders
    )
    assert whole.attempt().returncode == 0
    assert killed.attempt("--die-at-step", "14").returncode == _KILLED
    ended = killed.attempt()
    assert ended.returncode == 0, ended.stderr
    assert killed.last(Restored).level == "exact_by_replay"
    assert_identical(folders[0] / OUT, folders[1] / OUT)
