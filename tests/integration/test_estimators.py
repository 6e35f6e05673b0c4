"""Estimators of TensorFlow 2.15, in the virtual environment that `make test-estimator` makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.events import Restored, ScriptSaved, TrainerStopped
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.store.run_folder import OUTPUT_FILE
from tests.integration.keras_run import KerasRun
from tests.integration.supervisor import launch

PYTHON = Path(__file__).parents[2] / ".compat" / "estimators" / "bin" / "python"
LAST = 250

pytestmark = [
    pytest.mark.skipif(not PYTHON.exists(), reason="make test-estimator makes its interpreter"),
    pytest.mark.timeout(300),
]


def test_an_estimator_that_is_stopped_saves_and_goes_on(tmp_path: Path) -> None:
    words = ("model", str(LAST))
    run = KerasRun(tmp_path, "estimator.py", words, interpreter=(str(PYTHON),))
    first = run.start()
    run.until_training(20)
    assert run.status()["level"] == "not_exact"
    assert run.pitstop("stop").returncode == 0
    assert launch.finish(first).returncode == EXIT_STOPPED
    stopped = run.last(TrainerStopped).step
    assert 20 <= stopped < LAST
    assert run.last(ScriptSaved) == ScriptSaved(stopped, "model")
    assert run.attempt().returncode == 0
    assert run.events(Restored, attempt=2)[0].step == stopped
    assert run.last(ScriptSaved).step == LAST
    output = (tmp_path / "run" / "attempts" / "2" / OUTPUT_FILE).read_text()
    assert "train_and_evaluate has returned" in output
