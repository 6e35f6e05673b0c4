"""The reports that lie beside the records of an attempt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pitstop.events import AttemptEnded, Event
from pitstop.journal import Journal
from pitstop.report import files
from pitstop.steps import FILE_NAME, StepRecord, StepTrace
from tests.diagnosis.attempts import STARTED, killed


def _attempt(run_dir: Path, attempt: int, *events: Event) -> Path:
    folder = run_dir / "attempts" / str(attempt)
    folder.mkdir(parents=True)
    (folder / "output.log").write_text(f"attempt {attempt} began\n")
    trace = StepTrace(folder / FILE_NAME)
    with Journal(run_dir / "journal.jsonl", attempt) as journal:
        for event in (STARTED, *events):
            journal.append(event)
        for step in range(1, 20):
            trace.append(StepRecord(step, 0, 0, 1.0 / step, 1e9 + step, 0))
    return folder


def _ended(attempt: int) -> tuple[Event, ...]:
    return killed(), AttemptEnded(attempt, "failed", 137, 47, None)


def test_every_attempt_that_ended_gets_its_report_once(tmp_path: Path) -> None:
    first, second = _attempt(tmp_path, 1, *_ended(1)), _attempt(tmp_path, 2, *_ended(2))
    running = _attempt(tmp_path, 3)
    written = files.write_missing(tmp_path)
    assert [each.last.attempt for each in written] == [1, 2]
    assert all((each / "report.html").exists() for each in (first, second))
    for folder in (first, second):
        assert sorted(path.name for path in folder.iterdir()) == [
            "output.log",
            "report.html",
            "report.json",
            "report.md",
            "steps.bin",
        ]
    assert not (running / "report.json").exists()
    assert files.write_missing(tmp_path) == ()


def test_one_whose_supervisor_was_killed_is_over_when_another_has_followed(tmp_path: Path) -> None:
    lost = _attempt(tmp_path, 1)
    assert files.write_missing(tmp_path) == ()
    _attempt(tmp_path, 2)
    [written] = files.write_missing(tmp_path)
    assert (lost / "report.html").exists()
    assert written.last.state == "failed"


def test_a_report_is_that_of_its_own_attempt(tmp_path: Path) -> None:
    first, second = _attempt(tmp_path, 1, *_ended(1)), _attempt(tmp_path, 2, *_ended(2))
    files.write_missing(tmp_path)
    found = [json.loads((folder / "report.json").read_text()) for folder in (first, second)]
    assert [each["attempt"] for each in found] == [1, 2]
    assert [len(each["attempts"]) for each in found] == [0, 1]
    assert "attempt 1 began" in (first / "report.html").read_text()
    assert "killed_from_outside" in (second / "report.md").read_text()


def test_one_that_lacks_a_form_is_written_again(tmp_path: Path) -> None:
    folder = _attempt(tmp_path, 1, *_ended(1))
    files.write_missing(tmp_path)
    (folder / "report.md").unlink()
    [again] = files.write_missing(tmp_path)
    assert again.last.attempt == 1
    assert (folder / "report.md").exists()


def test_an_attempt_whose_folder_is_gone_is_passed_by(tmp_path: Path) -> None:
    folder = _attempt(tmp_path, 1, *_ended(1))
    folder.rename(tmp_path / "elsewhere")
    assert files.write_missing(tmp_path) == ()


def test_a_disk_that_refuses_is_told(tmp_path: Path) -> None:
    folder = _attempt(tmp_path, 1, *_ended(1))
    (folder / "report.html").mkdir()
    with pytest.raises(IsADirectoryError):
        files.write_missing(tmp_path)
    assert json.loads((folder / "report.json").read_text())["attempt"] == 1


def test_no_run(tmp_path: Path) -> None:
    assert files.write_missing(tmp_path) == ()
