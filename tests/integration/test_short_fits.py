"""A script that calls `fit` for each batch: few are saved, and all interruptions are exact."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.events import FitStarted, LevelKnown
from tests.integration.chain import EXIT_CODES
from tests.integration.compare import assert_identical
from tests.integration.keras_run import OUT, REAL, SCRIPTS, KerasRun
from tests.integration.supervisor.launch import PITSTOP, run_alone

FITS = 60
SCRIPT = "trains_for_each_batch.py"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the script writes without Pitstop."""
    folder = tmp_path_factory.mktemp("alone")
    run_alone(folder, *REAL, SCRIPTS / SCRIPT, OUT, FITS)
    return folder / OUT


@pytest.mark.parametrize(("action", "fit"), [("kill", 15), ("kill", 50), ("stop", 50)])
def test_an_interruption_in_one_of_many_short_fits_changes_nothing(
    tmp_path: Path, alone: Path, action: str, fit: int
) -> None:
    environment = {
        "FAULTS": f"{action}@fit:{fit}",
        "FAULTS_DONE": str(tmp_path / "faults"),
        "STOP_COMMAND": f"{' '.join(PITSTOP)} stop run --no-wait",
    }
    run = KerasRun(tmp_path, SCRIPT, (OUT, str(FITS)), environment=environment)
    assert run.attempt().returncode == EXIT_CODES[action]
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert_identical(alone, tmp_path / OUT)
    assert [each.level for each in run.events(LevelKnown)[-1:]] == ["exact"]
    # Of those that are saved now and then, each tells its level.
    assert len(run.events(LevelKnown, 1)) < len(run.events(FitStarted, 1))
