"""Which checkpoints an attempt restores."""

from __future__ import annotations

from pathlib import Path

from pitstop.events import ScriptEnded, TrainerExited
from pitstop.journal import Entry
from pitstop.store.catalog import CheckpointEntry
from pitstop.store.manifest import CheckpointInfo, Manifest
from pitstop.supervisor.helpers.restoring import restore_points
from pitstop.supervisor.records.history import reached_step


def _entry(
    name: str, sequence: int, fit: int, milestone: str = "", *, known: bool = False
) -> CheckpointEntry:
    info = CheckpointInfo(
        step=sequence * 10,
        epoch=1,
        step_in_epoch=2,
        fit=fit,
        milestone=milestone,
        attempt=1,
        reason="cadence",
        level="exact",
        created_seconds=0.0,
        versions={},
        identity={"frames": ["train.py"]} if known else {},
    )
    return CheckpointEntry(Path(name), Manifest(sequence, info, {}, {}))


def _names(entries: list[CheckpointEntry], newest: str) -> list[str]:
    return [name for name, _ in restore_points(entries, newest)]


def test_only_the_newest_inside_the_first_fit() -> None:
    assert _names([_entry("b", 2, 0), _entry("a", 1, 0)], "b") == ["b"]


def test_ends_of_earlier_fits_come_first_in_order() -> None:
    entries = [
        _entry("now", 5, 2),
        _entry("end1", 4, 1, "fit_end"),
        _entry("mid1", 3, 1),
        _entry("end0", 2, 0, "fit_end"),
    ]
    assert _names(entries, "now") == ["end0", "end1", "now"]


def test_newest_that_is_itself_the_end_of_a_fit_comes_once() -> None:
    entries = [_entry("end1", 3, 1, "fit_end"), _entry("end0", 1, 0, "fit_end")]
    assert _names(entries, "end1") == ["end0", "end1"]


def test_a_fit_that_ended_twice_counts_with_its_last_end() -> None:
    entries = [
        _entry("old", 1, 0, "fit_end"),
        _entry("new", 2, 0, "fit_end"),
        _entry("now", 3, 1),
    ]
    assert _names(entries, "now") == ["new", "now"]


def test_checkpoint_that_is_gone_gives_nothing() -> None:
    assert _names([_entry("a", 1, 0)], "b") == []
    assert _names([CheckpointEntry(Path("a"), None, "torn")], "a") == []


def test_reached_step_is_the_last_attempt_s() -> None:
    exited = TrainerExited(None, "SIGKILL", 40, 0, 40, "train", None)
    assert reached_step([Entry(0.0, 1, exited)]) == 40
    assert reached_step([Entry(0.0, 1, exited), Entry(1.0, 2, ScriptEnded(3))]) == -1
    assert reached_step([]) == -1
    refused = TrainerExited(2, "", 0, 0, 0, "restoring", None)
    assert reached_step([Entry(0.0, 1, exited), Entry(1.0, 2, refused)]) == 40


def test_point_tells_the_trainer_and_the_journal_the_same() -> None:
    [(name, info)] = restore_points([_entry("a", 7, 0)], "a")
    assert (name, info.step) == ("a", 70)


def test_what_was_left_in_its_middle_is_still_there_behind_another_training() -> None:
    """A script may come back to it; trainings are known by what they are."""
    entries = [
        _entry("end2", 5, 2, "fit_end", known=True),
        _entry("newer1", 4, 1, known=True),
        _entry("mid1", 3, 1, known=True),
        _entry("end0", 2, 0, "fit_end", known=True),
        _entry("mid0", 1, 0, known=True),
    ]
    assert _names(entries, "end2") == ["end0", "newer1", "end2"]
