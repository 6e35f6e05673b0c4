"""Evidence from real files."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.diagnosis import load
from pitstop.errors import RunNotFound
from pitstop.events import AttemptEnded, CheckpointCommitted, Event
from pitstop.journal import Journal
from tests.diagnosis.attempts import SAVED, STARTED, exited


def write(run: Path, attempt: int, *events: Event, output: str = "") -> None:
    folder = run / "attempts" / str(attempt)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "output.log").write_text(output)
    with Journal(run / "journal.jsonl", attempt) as journal:
        for event in events:
            journal.append(event)


def test_attempts_are_told_apart_also_when_their_lines_mix(tmp_path: Path) -> None:
    write(tmp_path, 1, STARTED, output="one")
    write(tmp_path, 2, STARTED, output="two")
    write(tmp_path, 1, SAVED, output="one")  # a persister that finished late
    (first, second), _ = load.from_run(tmp_path, is_live=True)
    assert (first.attempt, first.output, first.is_live) == (1, "one", False)
    assert (second.attempt, second.output, second.is_live) == (2, "two", True)
    assert first.last(CheckpointCommitted) == SAVED
    assert second.last(CheckpointCommitted) is None


def test_damaged_lines_are_counted(tmp_path: Path) -> None:
    write(tmp_path, 1, STARTED, AttemptEnded(1, "completed", 0, 5, None))
    with (tmp_path / "journal.jsonl").open("ab") as file:
        file.write(b'{"time":1,"half')
    attempts, damaged_lines = load.from_run(tmp_path, is_live=False)
    assert damaged_lines == 1
    assert attempts[0].state == "completed"


@pytest.mark.parametrize("content", [None, b"", b"garbage\n"])
def test_a_folder_without_a_readable_journal_is_no_run(
    tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "journal.jsonl").write_bytes(content)
    with pytest.raises(RunNotFound):
        load.from_run(tmp_path, is_live=False)


def test_the_tail_starts_at_a_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "output.log"
    path.write_text("x" * load.TAIL_BYTES + "\nlast \x1b[1mline\x1b[0m\n")
    assert load.read_tail(path) == "last line\n"


def test_a_run_without_output_has_an_empty_tail(tmp_path: Path) -> None:
    assert load.read_tail(tmp_path / "output.log") == ""


def test_a_log_with_an_exit_code_and_one_with_a_signal(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("hello\n")
    assert load.from_log(path).exit is None
    assert load.from_log(path, exit_code=3).exit_code == 3
    assert load.from_log(path, signal="SIGSEGV").signal == "SIGSEGV"
    with pytest.raises(RunNotFound):
        load.from_log(tmp_path)


def test_entries_survive_the_journal(tmp_path: Path) -> None:
    ended = exited(3)
    write(tmp_path, 1, STARTED, ended)
    assert load.from_run(tmp_path, is_live=False)[0][0].exit == ended
