"""What the cells of the matrix share: uninterrupted runs, and the count at the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.conftest import Interpreter
from tests.integration.keras_run import OUT, SCRIPTS
from tests.integration.matrix.cells import Cell
from tests.integration.supervisor.launch import run_alone

SCRIPT = "matrix_cell.py"
OUTCOME = "outcome"
IDENTICAL, LABELLED = "identical", "labelled"

Baseline = Callable[[Cell], Path]


@pytest.fixture(scope="session")
def baseline(tmp_path_factory: pytest.TempPathFactory, forked: Interpreter) -> Baseline:
    """What a cell's script writes without Pitstop, run once for all of its actions."""
    trained: dict[tuple[str, str], Path] = {}

    def outcome(cell: Cell) -> Path:
        key = cell.input, cell.kind
        if key not in trained:
            trained[key] = _train_alone(tmp_path_factory.mktemp("alone"), cell, forked)
        return trained[key]

    return outcome


def _train_alone(folder: Path, cell: Cell, interpreter: Interpreter) -> Path:
    run_alone(folder, *interpreter, SCRIPTS / SCRIPT, OUT, cell.input, cell.kind)
    return folder / OUT


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    outcomes = [
        value
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if name == OUTCOME
    ]
    if outcomes:
        identical, labelled = outcomes.count(IDENTICAL), outcomes.count(LABELLED)
        terminalreporter.write_line(
            f"{len(outcomes)} cells, {identical} identical, {labelled} labelled not exact"
        )
