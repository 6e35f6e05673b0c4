"""Reading a run's folder for a comparison."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.comparison.record import Resume, load_run
from pitstop.engine.snapshots.state_capture import Position
from pitstop.errors import RunNotFound, UserError
from pitstop.events import EnvironmentChanged, Restored, TrainerConnected
from pitstop.store.manifest import STATE_FILE
from pitstop.store.run_folder import open_or_create
from tests.comparison.runs import float32, make_run, records, save_arrays

KERNEL = {"variables/00000/kernel": float32(1.0)}


def _state(stage: str = "steps", *, replay: bool = False) -> dict[str, object]:
    return {"position": {"stage": stage}, "fit": {"input": {"replay": replay}}}


def test_attempts_are_merged_in_order_of_their_numbers(tmp_path: Path) -> None:
    attempts = [records(1, losses={1: float(number)}) for number in range(1, 12)]
    make_run(tmp_path / "run", *attempts)
    assert load_run(tmp_path / "run").trace.records[1].loss == 11.0


def test_what_the_journal_tells(tmp_path: Path) -> None:
    changed = EnvironmentChanged("the number of CPUs it may use", "2", "4", True)
    events = [
        TrainerConnected(1, "3.11.7", [], {"keras": "3.15.0"}),
        Restored(5, 1, 0, "exact_by_replay", "a generator", 0.1, 2),
        changed,
    ]
    make_run(tmp_path / "run", records(3), events=events, environment={"cpus": 2})
    found = load_run(tmp_path / "run")
    assert found.completed
    assert found.resumes == (Resume(5, 2, "exact_by_replay", "a generator"),)
    assert found.environment_changes == (changed,)
    assert found.environment == {"cpus": 2, "python": "3.11.7", "keras": "3.15.0"}


def test_checkpoints_are_known_by_their_place(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", records(9))
    save_arrays(folder, 4, {**KERNEL, "input/iterator": float32(2.0)}, _state(replay=True))
    save_arrays(folder, 9, KERNEL, _state("epoch_end"))
    found = load_run(tmp_path / "run").saved
    first, second = Position(4, 0, 0, 4), Position(9, 0, 0, 9, "epoch_end")
    assert list(found) == [first, second]
    assert list(found[first].tensors) == list(KERNEL)
    assert (found[first].read_ahead, found[second].read_ahead) == (True, False)


def test_a_damaged_checkpoint_is_left_out_and_named(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", records(9))
    path = save_arrays(folder, 4, KERNEL)
    (path / STATE_FILE).write_text("{ }")
    found = load_run(tmp_path / "run")
    assert not found.saved
    assert found.unreadable[0].startswith(str(path))


def test_a_run_without_steps_cannot_be_compared(tmp_path: Path) -> None:
    open_or_create(tmp_path / "run", ["true"], tmp_path)
    with pytest.raises(UserError, match="no record of training steps"):
        load_run(tmp_path / "run")


def test_there_must_be_a_run(tmp_path: Path) -> None:
    with pytest.raises(RunNotFound):
        load_run(tmp_path)
