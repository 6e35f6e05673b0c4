"""Scripts that train with Keras 2: cells of the exactness matrix, and what is not exact."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from pitstop.events import FitRestored, LevelKnown, Restored
from pitstop.exit_codes import EXIT_STOPPED
from tests.integration.compare import first_difference
from tests.integration.keras_run import OUT, REAL, SCRIPTS, KerasRun
from tests.integration.matrix.cells import ACTIONS, NOT_EXACT, REPLAY, Cell
from tests.integration.matrix.conftest import Baseline, baseline  # noqa: F401  a fixture
from tests.integration.matrix.test_matrix import interrupted_run
from tests.integration.supervisor import launch

pytest.importorskip("tf_keras", reason="Keras 2 comes in a package of its own")

INPUTS = {
    "numpy_shuffle": "exact",
    "class_weights": "exact",
    "validation_split": "exact",
    "shuffled_validation": "exact",
    "tfdata_shuffle": "exact",
    "tfdata_shuffle_repeat": "exact",
    "tfdata_from_generator": REPLAY,
    "sequence": REPLAY,
    "sequence_reshuffled": REPLAY,
    "sequence_augmented": REPLAY,
    "sequence_two_workers": NOT_EXACT,
    "generator": REPLAY,
}
KINDS = (
    "unbuilt",
    "own_train_step",
    "many_fits",
    "folds_cleared",
    "ema",
    "schedule",
    "scheduled_by_callback",
    "steps_per_execution",
    "uneven_steps_per_execution",
    "eager",
    "evaluates_in_callback",
    "noise_layers",
    "recurrent",
    "writes_models",
    "epochs_of_part",
)
IN_EVERY_TEST_RUN = ("numpy_shuffle-sequential-kill", "sequence-sequential-stop")


def _cells() -> list[object]:
    pairs = [(name, "sequential") for name in INPUTS]
    pairs += [("numpy_shuffle", kind) for kind in KINDS]
    cells = [Cell(*pair, action) for pair in pairs for action in ACTIONS]
    return [
        pytest.param(
            cell,
            id=cell.name,
            marks=pytest.mark.fast if cell.name in IN_EVERY_TEST_RUN else pytest.mark.torture,
        )
        for cell in cells
    ]


@pytest.fixture(autouse=True)
def keras_2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_PACKAGE", "tf_keras")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("cell", _cells())
def test_a_cell_of_keras_2_is_identical_or_labelled(
    cell: Cell,
    tmp_path: Path,
    baseline: Baseline,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if cell.action == "kill":
        # Without it, TensorFlow imports Keras 3 as well.
        monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    run = interrupted_run(cell, tmp_path, REAL)
    difference = first_difference(baseline(cell), tmp_path / OUT)
    known = run.last(LevelKnown)
    assert known.level == run.status()["level"] == INPUTS[cell.input], (difference, known)
    assert {event.level for event in run.events(Restored)} == {INPUTS[cell.input]}
    assert difference is None or INPUTS[cell.input] == NOT_EXACT, (cell.point, difference)


@pytest.mark.fast
def test_a_stop_in_the_validation_costs_no_epoch(tmp_path: Path) -> None:
    run = KerasRun(tmp_path, "legacy_validation.py")
    alone = launch.run_alone(tmp_path, sys.executable, SCRIPTS / run.script)
    started = run.start()
    run.until_phase("validation")
    started.send_signal(signal.SIGTERM)
    assert launch.finish(started).returncode == EXIT_STOPPED
    ended = run.attempt()
    assert run.last(Restored).step_in_epoch == 10
    assert ended.stdout == alone.stdout


@pytest.mark.torture
def test_a_fit_has_ended_whose_backup_had_built_the_optimizer(tmp_path: Path) -> None:
    run = KerasRun(tmp_path, "legacy_backup.py")
    assert run.attempt().returncode == 1
    (tmp_path / "repaired").touch()
    alone = launch.run_alone(tmp_path, sys.executable, SCRIPTS / run.script)
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert run.last(FitRestored).epochs_run == 3
    assert ended.stdout == alone.stdout
