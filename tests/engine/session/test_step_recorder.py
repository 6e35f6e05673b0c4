"""Steps are recorded until the disk refuses, which is told once."""

from __future__ import annotations

import resource
from pathlib import Path

from pitstop import steps
from pitstop.engine.session.step_recorder import StepRecorder, began_seconds, started_seconds
from pitstop.events import AttemptStarted, Event, FitStarted, Notice
from pitstop.journal import Entry, encode
from pitstop.steps import StepRecord
from tests.store.samples import lowered


def record(step: int) -> StepRecord:
    return StepRecord(step, 0, 1, 0.5, 1.7e9, 42)


def test_steps_are_recorded(tmp_path: Path) -> None:
    told: list[Event] = []
    recorder = StepRecorder(tmp_path, told.append)
    for step in (1, 2):
        recorder.record(record(step))
    assert list(steps.read(tmp_path / steps.FILE_NAME)) == [record(1), record(2)]
    assert told == []


def test_nothing_is_made_before_the_first_step(tmp_path: Path) -> None:
    told: list[Event] = []
    StepRecorder(tmp_path, told.append)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_told_once(tmp_path: Path) -> None:
    told: list[Event] = []
    recorder = StepRecorder(tmp_path / "gone", told.append)
    for step in (1, 2):
        recorder.record(record(step))
    (notice,) = told
    assert isinstance(notice, Notice)
    assert notice.code == "steps_not_recorded"
    assert "No such file" in notice.message


def test_a_full_disk_is_told_once_and_keeps_what_there_is(tmp_path: Path) -> None:
    told: list[Event] = []
    recorder = StepRecorder(tmp_path, told.append)
    recorder.record(record(1))
    size_bytes = (tmp_path / steps.FILE_NAME).stat().st_size
    with lowered(resource.RLIMIT_FSIZE, size_bytes):
        recorder.record(record(2))
        recorder.record(record(3))
    assert len(told) == 1
    assert list(steps.read(tmp_path / steps.FILE_NAME)) == [record(1)]


def test_when_earlier_attempts_began(tmp_path: Path) -> None:
    for number in "123":
        (tmp_path / number).mkdir()
        StepRecorder(tmp_path / number, lambda _: None).record(record(1))
    (tmp_path / "4").mkdir()
    assert began_seconds(tmp_path / "4") == 1.7e9


def test_a_fit_begins_before_its_first_step(tmp_path: Path) -> None:
    folder = tmp_path / "attempts" / "2"
    folder.mkdir(parents=True)
    entries = [Entry(1.6e9, 1, FitStarted(0, 1, 1)), Entry(1.8e9, 2, FitStarted(0, 1, 1))]
    (tmp_path / "journal.jsonl").write_bytes(b"".join(map(encode, entries)))
    assert began_seconds(folder) == 1.6e9
    assert began_seconds(folder.with_name("1")) == float("inf")


def test_an_attempt_starts_before_its_process(tmp_path: Path) -> None:
    # It is recorded when its process runs already, and may have prepared its data by then.
    first = AttemptStarted(1, ["python"], 1, 2, "host", started_seconds=1.6e9)
    entries = [Entry(1.7e9, 1, first), Entry(1.8e9, 2, first)]
    (tmp_path / "journal.jsonl").write_bytes(b"".join(map(encode, entries)))
    assert started_seconds(tmp_path / "attempts" / "2") == 1.6e9


def test_a_first_attempt_has_none_before_it(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    StepRecorder(tmp_path / "1", lambda _: None).record(record(1))
    assert began_seconds(tmp_path / "1") == float("inf")
