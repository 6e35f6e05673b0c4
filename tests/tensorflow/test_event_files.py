"""Event files are cut where they were, and set aside when they are newer."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf
from tensorflow.python.ops import summary_ops_v2

from pitstop.events import AttemptStarted, TrainerConnected
from pitstop.journal import Journal
from pitstop.tensorflow import event_files
from pitstop.tensorflow.event_files import (
    EventFiles,
    EventWriter,
    FileCut,
    SummaryWriters,
    earlier_processes,
)


@pytest.fixture
def writers(monkeypatch: pytest.MonkeyPatch) -> SummaryWriters:
    """Those that a test creates."""
    kind = summary_ops_v2._ResourceSummaryWriter
    monkeypatch.setattr(kind, "__init__", kind.__init__)
    found = SummaryWriters()
    found.watch()
    monkeypatch.setattr(event_files, "SUMMARY_WRITERS", found)
    return found


@pytest.fixture
def board(tmp_path: Path, writers: SummaryWriters) -> Any:
    """A TensorBoard callback in the middle of a training."""
    callback = keras.callbacks.TensorBoard(str(tmp_path), write_graph=False)
    callback.set_model(keras.Sequential([keras.layers.Dense(1)]))
    assert not writers.folders
    return callback


def write(callback: Any, step: int) -> None:
    with callback._train_writer.as_default():
        tf.summary.scalar("loss", 0.5, step)


def test_the_size_at_the_cut_counts_what_is_still_in_a_buffer(board: Any) -> None:
    write(board, 0)
    first = EventFiles().capture([])
    write(board, 1)
    second = EventFiles().capture([])
    [(path, before)], [(again, after)] = first["sizes"].items(), second["sizes"].items()
    assert path == again
    assert 0 < before < after == Path(path).stat().st_size


def test_files_of_others_are_none_of_ours(board: Any, tmp_path: Path) -> None:
    write(board, 0)
    (tmp_path / "train" / "events.out.tfevents.1700000000.host.1.0.v2").write_bytes(b"x")
    assert len(event_files.present(EventFiles().capture([])["folders"])) == 2
    assert len(EventFiles().capture([])["sizes"]) == 1


def test_files_of_earlier_attempts_stay_ours(tmp_path: Path) -> None:
    earlier = tmp_path / "events.out.tfevents.1700000000.host.1.0.v2"
    earlier.write_bytes(b"12345")
    files = EventFiles()
    files.adopt([FileCut(earlier, 3)])
    assert files.capture([])["sizes"] == {str(earlier): 5}


def test_a_folder_of_a_callback_that_has_not_written_yet() -> None:
    saved = EventFiles().capture([Path("/logs/train")])
    assert (saved["folders"], saved["sizes"]) == (["/logs/train"], {})


def test_a_process_that_writes_all_again_sets_earlier_files_aside(
    tmp_path: Path, writers: SummaryWriters
) -> None:
    folder, now = tmp_path / "logs", int(time.time())
    folder.mkdir()
    with Journal(tmp_path / "journal.jsonl", 1) as journal:
        journal.append(AttemptStarted(1, ["python"], 1, 2, socket.gethostname()))
        for pid in (7, os.getpid()):
            journal.append(TrainerConnected(pid, "3.11", [], {}))
    for host, pid in ((socket.gethostname(), 7), ("other", 7), (socket.gethostname(), 8)):
        (folder / f"events.out.tfevents.{now + 1}.{host}.{pid}.0.v2").touch()
    writer = tf.summary.create_file_writer(str(folder))
    writers.set_earlier_aside(tmp_path / "journal.jsonl")
    assert len(event_files.present([str(folder)])) == 3
    (aside,) = folder.glob("*.interrupted.*")
    assert aside.name.endswith(f".{socket.gethostname()}.7.0.v2")
    writer.close()


def test_a_resume_cuts_the_files_and_sets_newer_ones_aside() -> None:
    def named(seconds: int) -> Path:
        return Path(f"/logs/events.out.tfevents.{seconds}.host.{os.getpid()}.0.v2")

    saved = {"folders": ["/logs"], "time_seconds": 1000.7, "sizes": {str(named(990)): 40}}
    there = [named(900), named(990), named(1000), named(1010)]
    ours = [EventWriter("host", os.getpid(), 980.5)]
    assert event_files.plan(there, saved, [Path("/logs")], ours) == [
        FileCut(named(990), 40),
        FileCut(named(1000), None),
        FileCut(named(1010), None),
    ]


def test_cutting_never_makes_a_file_longer(tmp_path: Path) -> None:
    long, short = tmp_path / "a.tfevents.1.x", tmp_path / "b.tfevents.1.x"
    new, gone = tmp_path / "c.tfevents.2.x", tmp_path / "d.tfevents.2.x"
    long.write_bytes(b"123456")
    short.write_bytes(b"12")
    new.write_bytes(b"123")
    event_files.apply([FileCut(long, 4), FileCut(short, 4), FileCut(new, None), FileCut(gone, 4)])
    assert (long.read_bytes(), short.read_bytes()) == (b"1234", b"12")
    assert (tmp_path / "c.interrupted.2.x").read_bytes() == b"123"
    assert not new.exists()
    assert not gone.exists()


ANOTHER_HOST = "/logs/events.out.tfevents.1005.other.7.0.v2"
ANOTHER_PROCESS = "/logs/events.out.tfevents.1005.host.8.0.v2"
ANOTHER_TIME = "/logs/events.out.tfevents.1200.host.7.0.v2"
ELSEWHERE = "/home/events.out.tfevents.1005.host.7.0.v2"
NO_EVENTS = "/logs/thesis.tex"


@pytest.mark.parametrize(
    "path", [ANOTHER_HOST, ANOTHER_PROCESS, ANOTHER_TIME, ELSEWHERE, NO_EVENTS, "/etc/passwd"]
)
def test_what_is_not_the_runs_own_is_neither_cut_nor_renamed(path: str) -> None:
    """Also where a state says so: it may come from anybody."""
    ours = [EventWriter("host", 7, 980.5, 1100.0)]
    hostile = {"folders": ["/logs"], "time_seconds": 1000.0, "sizes": {path: 0}}
    assert event_files.plan([Path(path)], hostile, [Path("/logs")], ours) == []
    newer = {**hostile, "sizes": {}}
    assert event_files.plan([Path(path)], newer, [Path("/logs")], ours) == []


def test_a_link_to_a_file_of_the_users_is_not_followed(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "events.out.tfevents.1005.host.7.0.v2"
    victim.write_text("years of work")
    link.symlink_to(victim)
    event_files.apply([FileCut(link, 0)])
    assert victim.read_text() == "years of work"


def test_a_file_is_of_a_process_that_began_it_before_the_journal_had_the_attempt(
    tmp_path: Path,
) -> None:
    with Journal(tmp_path / "journal.jsonl", 1) as journal:
        journal.append(AttemptStarted(1, ["python"], 1, 2, "host", started_seconds=41.9))
        journal.append(TrainerConnected(7, "3.11", [], {}))
    [process] = earlier_processes(tmp_path / "journal.jsonl")
    assert process.began(tmp_path / "events.out.tfevents.41.host.7.0.v2")
    assert not process.began(tmp_path / "events.out.tfevents.40.host.7.0.v2")


def test_the_processes_of_a_run_are_in_its_journal(tmp_path: Path) -> None:
    def started(attempt: int) -> AttemptStarted:
        return AttemptStarted(attempt, ["python"], 1, 2, f"host-{attempt}")

    file = tmp_path / "journal.jsonl"
    for attempt, pid in ((1, 7), (2, 9)):
        with Journal(file, attempt) as journal:
            journal.append(started(attempt))
            journal.append(TrainerConnected(pid, "3.11", [], {}))
    first, second = earlier_processes(file)
    assert (first.host, first.pid) == ("host-1", 7)
    assert (second.host, second.pid, second.until_seconds) == ("host-2", 9, float("inf"))
    assert first.until_seconds == second.from_seconds
    assert first.from_seconds > 0.0
    assert earlier_processes(tmp_path / "none.jsonl") == []
