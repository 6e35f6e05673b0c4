"""The exactness matrix: each cell ends with the same bits, or says that it may not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pitstop.events import LevelKnown, Restored
from tests.integration.compare import first_difference
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import OUT, REAL, KerasRun
from tests.integration.matrix.cells import IN_EVERY_TEST_RUN, NOT_EXACT, Cell, all_cells
from tests.integration.matrix.conftest import (
    IDENTICAL,
    LABELLED,
    OUTCOME,
    SCRIPT,
    Baseline,
)
from tests.integration.supervisor.launch import PITSTOP

ENDS_WITH = {"stop": 75, "kill": 128 + 9}


def _marks(cell: Cell) -> list[pytest.MarkDecorator]:
    # The actions on a cell share its uninterrupted run, if one process runs them.
    group = pytest.mark.xdist_group(f"{cell.input}-{cell.kind}")
    return [group] if cell.name in IN_EVERY_TEST_RUN else [group, pytest.mark.torture]


CELLS = [pytest.param(cell, id=cell.name, marks=_marks(cell)) for cell in all_cells()]


def interrupted_run(cell: Cell, folder: Path, interpreter: Interpreter) -> KerasRun:
    """Runs a cell, interrupted once, to its end."""
    environment = {
        "FAULTS": cell.point,
        "FAULTS_DONE": str(folder / "faults"),
        "STOP_COMMAND": f"{' '.join(PITSTOP)} stop run --no-wait",
    }
    arguments = (OUT, cell.input, cell.kind)
    options = ("--every", "3steps")
    run = KerasRun(folder, SCRIPT, arguments, options, environment, interpreter=interpreter)
    for expected in (ENDS_WITH[cell.action], 0):
        ended = run.attempt()
        assert ended.returncode == expected, (cell.point, ended.stderr.decode())
    return run


@pytest.mark.timeout(300)
@pytest.mark.parametrize("cell", CELLS)
def test_cell_is_identical_or_labelled(
    cell: Cell,
    tmp_path: Path,
    baseline: Baseline,
    forked: Interpreter,
    record_property: Callable[[str, object], None],
) -> None:
    run = interrupted_run(cell, tmp_path, REAL if "process" in cell.input else forked)
    difference = first_difference(baseline(cell), tmp_path / OUT)
    known = run.last(LevelKnown)
    assert known.level == run.status()["level"] == cell.level, (difference, known)
    assert {event.level for event in run.events(Restored)} <= {cell.level}
    assert difference is None or cell.level == NOT_EXACT, (cell.point, difference)
    record_property(OUTCOME, LABELLED if cell.level == NOT_EXACT else IDENTICAL)


def test_there_are_at_least_150_cells() -> None:
    cells = all_cells()
    names = {cell.name for cell in cells}
    assert len(names) == len(cells) >= 150
    assert names > IN_EVERY_TEST_RUN
