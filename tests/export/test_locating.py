"""Which step of which attempt is looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.errors import UserError
from pitstop.events import AttemptStarted, FitStarted
from pitstop.export.locating import find_nan
from pitstop.journal import Journal
from pitstop.store.run_folder import RunFolder, open_or_create


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return open_or_create(tmp_path / "run", ["train"], tmp_path)


def test_a_run_that_never_began_has_nothing_to_look_at(folder: RunFolder) -> None:
    with pytest.raises(UserError, match="no journal"):
        find_nan(folder, 7, pytest.fail)


def test_a_run_without_a_bad_loss_needs_a_step(folder: RunFolder) -> None:
    with Journal(folder.journal, 1) as journal:
        journal.append(AttemptStarted(1, ["train"], 1, 2, "host"))
    with pytest.raises(UserError, match="No loss of this run"):
        find_nan(folder, 0, pytest.fail)


def test_steps_of_a_loop_of_the_scripts_own_are_not_known(folder: RunFolder) -> None:
    with Journal(folder.journal, 1) as journal:
        journal.append(AttemptStarted(1, ["train"], 1, 2, "host"))
        journal.append(FitStarted(0, 1, None, {"adapter": "custom loop"}))
    with pytest.raises(UserError, match="a custom loop"):
        find_nan(folder, 7, pytest.fail)
