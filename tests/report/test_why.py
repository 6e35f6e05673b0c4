"""From a folder or a log to a report."""

from __future__ import annotations

from pathlib import Path

from pitstop.events import AttemptEnded
from pitstop.journal import Journal
from pitstop.report import why, why_log
from tests.diagnosis.attempts import STARTED, killed


def test_the_last_attempt_and_those_before(tmp_path: Path) -> None:
    for attempt in (1, 2):
        with Journal(tmp_path / "journal.jsonl", attempt) as journal:
            journal.append(STARTED)
            journal.append(killed("SIGSEGV" if attempt == 1 else "SIGKILL"))
            journal.append(AttemptEnded(attempt, "failed", 139, 47, None))
    report = why(tmp_path, live=False)
    assert report.last.finding is not None
    assert report.last.finding.cause == "killed_from_outside"
    assert [each.finding.cause for each in report.earlier if each.finding] == ["native_crash"]


def test_a_live_run_is_running(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.jsonl", 1) as journal:
        journal.append(STARTED)
    assert why(tmp_path, live=True).last.finding is None
    lost = why(tmp_path, live=False).last
    assert lost.finding is not None
    assert "the end of the attempt was not recorded" in lost.finding.summary


def test_a_bare_log(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(
        "Traceback (most recent call last):\nModuleNotFoundError: No module named 'x'\n"
    )
    report = why_log(path, exit_code=1)
    assert report.last.finding is not None
    assert report.last.finding.cause == "dependency_or_import_error"
