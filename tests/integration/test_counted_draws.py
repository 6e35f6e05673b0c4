"""Steps that draw by stateful random ops go on with the numbers that they would have drawn."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pitstop.events import LevelKnown
from tests.integration.keras_run import SCRIPTS, KerasRun
from tests.integration.supervisor.launch import run_alone

_SCRIPT = "draws_random.py"
LEVELS = {
    "fit": "exact",
    "legacy": "exact",
    "loop": "exact_by_replay",
    "steps": "exact",
    "callback": "exact",
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", LEVELS)
def test_draws_go_on(tmp_path: Path, kind: str) -> None:
    run_alone(tmp_path, sys.executable, SCRIPTS / _SCRIPT, kind, "plain.npz")
    run = KerasRun(tmp_path, _SCRIPT, (kind, "out.npz"), ("--every", "1steps"))
    for step in (5, 16, 30):
        assert run.attempt("--die-at-step", str(step)).returncode != 0
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    known = run.last(LevelKnown)
    assert known.level == LEVELS[kind], known.reason
    assert (tmp_path / "out.npz").read_bytes() == (tmp_path / "plain.npz").read_bytes()
