"""Objects of a script, of many kinds in one training."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.events import Restored
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import SCRIPTS, KerasRun
from tests.integration.supervisor.launch import run_alone

_SCRIPT = "holds_objects.py"


@pytest.mark.timeout(300)
def test_a_training_that_objects_steer_is_the_same_when_it_is_killed_twice(
    tmp_path: Path, forked: Interpreter
) -> None:
    run_alone(tmp_path, *forked, SCRIPTS / _SCRIPT, "plain")
    run = KerasRun(tmp_path, _SCRIPT, ("out",), ("--every", "2steps"), interpreter=forked)
    for step in ("8", "27"):
        assert run.attempt("--die-at-step", step).returncode != 0
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert run.last(Restored).level == "exact", run.last(Restored).reason
    assert (tmp_path / "out").read_bytes() == (tmp_path / "plain").read_bytes()
