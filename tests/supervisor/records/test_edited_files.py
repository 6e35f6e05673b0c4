"""Which files were edited between two attempts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pitstop.events import AttemptEnded, AttemptStarted, EnvironmentChanged, Event, TrainerConnected
from pitstop.journal import Entry
from pitstop.supervisor.records.fingerprint import EditedFiles, digest_of

ENDED_SECONDS = 100.0


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    write(path, "1", ENDED_SECONDS - 50)
    return path


def write(path: Path, text: str, changed_seconds: float) -> None:
    path.write_text(text)
    os.utime(path, (changed_seconds, changed_seconds))


def entries(config: Path, *more: Event) -> list[Entry]:
    events = (
        AttemptStarted(1, [], 1, 2, "host"),
        TrainerConnected(2, "3.11", [], {}, {}, {str(config): digest_of(config)}),
        AttemptEnded(1, "stopped", 75, 10, 10),
        *more,
    )
    return [Entry(ENDED_SECONDS, 1, each) for each in events]


def test_nothing_is_edited_where_nobody_wrote(config: Path) -> None:
    assert EditedFiles.from_entries(entries(config)) == EditedFiles()


def test_an_edit_after_the_end_is_found_and_known_for_good(config: Path) -> None:
    known = entries(config)
    write(config, "2", ENDED_SECONDS + 5)
    edited = EditedFiles.from_entries(known)
    (change,) = edited.since_last
    assert change.what.endswith("config.json")
    assert change.changes_bits
    later = EditedFiles.from_entries([*known, Entry(ENDED_SECONDS + 10, 2, change)])
    assert (later.since_last, later.digest) == ((), edited.digest)


def test_what_was_written_before_the_end_may_be_the_scripts_own(config: Path) -> None:
    known = entries(config)
    write(config, "2", ENDED_SECONDS - 5)
    assert EditedFiles.from_entries(known) == EditedFiles()


def test_a_file_that_is_written_anew_with_its_old_content_is_not_edited(config: Path) -> None:
    known = entries(config)
    write(config, "1", ENDED_SECONDS + 5)
    assert EditedFiles.from_entries(known) == EditedFiles()


def test_of_an_attempt_that_nobody_saw_end_nothing_is_known(config: Path) -> None:
    known = entries(config, AttemptStarted(2, [], 1, 2, "host"))
    write(config, "2", ENDED_SECONDS + 5)
    assert EditedFiles.from_entries(known) == EditedFiles()


def test_other_changes_are_no_edits(config: Path) -> None:
    change = EnvironmentChanged("the command", "1", "2", changes_bits=True)
    assert not EditedFiles.from_entries(entries(config, change)).digest
