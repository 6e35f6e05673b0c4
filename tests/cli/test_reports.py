"""The reports that `pitstop run` leaves."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from pitstop.cli.reports import cause_and_report, leave_reports
from pitstop.events import AttemptEnded
from pitstop.flight.files import FlightFiles
from pitstop.journal import Journal
from pitstop.supervisor.stops import early_stop
from tests.diagnosis.attempts import STARTED, killed
from tests.flight.samples import at


def _run(run_dir: Path) -> Path:
    folder = run_dir / "attempts" / "1"
    folder.mkdir(parents=True)
    with Journal(run_dir / "journal.jsonl", 1) as journal:
        for event in (STARTED, killed(), AttemptEnded(1, "failed", 137, 47, None)):
            journal.append(event)
    return folder


def test_reports_are_left(tmp_path: Path) -> None:
    folder = _run(tmp_path)
    said: list[str] = []
    leave_reports(tmp_path, said.append)
    assert (folder / "report.html").exists()
    cause, remedy = said
    assert cause.startswith("killed_from_outside: The trainer was killed from outside")
    assert "kill -9" in remedy


def test_a_refusal_is_not_told_twice(tmp_path: Path) -> None:
    folder = _run(tmp_path)
    said: list[str] = []
    leave_reports(tmp_path, said.append, is_told=True)
    assert (folder / "report.html").exists()
    assert not said


def test_the_report_is_among_the_texts_of_the_users_tensorboard(tmp_path: Path) -> None:
    recorder = FlightFiles(_run(tmp_path / "run"))
    recorder.append(at(1, training={"log_folder": str(tmp_path / "logs")}))
    recorder.close()
    leave_reports(tmp_path / "run", print)
    [file] = (tmp_path / "logs" / "pitstop").iterdir()
    assert b"The trainer was killed from outside with SIGKILL" in file.read_bytes()


def test_a_restart_is_decided_by_the_cause_and_leaves_a_report_too(tmp_path: Path) -> None:
    folder = _run(tmp_path)
    said: list[str] = []
    assert cause_and_report(tmp_path, said.append) == "killed_from_outside"
    assert (folder / "report.json").exists()
    assert [line.partition(":")[0] for line in said[:1]] == ["killed_from_outside"]
    assert len(said) == 2
    leave_reports(tmp_path, said.append)
    assert len(said) == 2


def test_a_refused_report_is_told_and_no_signal_ends_the_command_meanwhile(tmp_path: Path) -> None:
    (_run(tmp_path) / "report.json").mkdir()
    said: list[str] = []

    def say(line: str) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGUSR1)
        said.append(line)

    asking = ("INT", "TERM", "HUP", "USR1", "USR2")
    before = {name: signal.getsignal(signal.Signals[f"SIG{name}"]) for name in asking}
    early_stop.ignore_signals()
    try:
        leave_reports(tmp_path, say)
    finally:
        for name, handler in before.items():
            signal.signal(signal.Signals[f"SIG{name}"], handler)
    assert said == ["the report could not be written: Is a directory."]
    assert cause_and_report(tmp_path, print) == "killed_from_outside"


def test_a_folder_without_a_journal_has_no_report(tmp_path: Path) -> None:
    leave_reports(tmp_path, print)
    assert cause_and_report(tmp_path, print) == "unknown"
    assert not list(tmp_path.iterdir())
