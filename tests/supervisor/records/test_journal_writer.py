"""A journal on a disk that refuses."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pitstop.events import LevelKnown, MemberReleased, Notice, Restored, StopRequested
from pitstop.journal import read
from pitstop.supervisor.records.event_log import EventLog


@contextmanager
def _files_no_larger_than(size_bytes: int) -> Iterator[None]:
    # A real refusal of the kernel (EFBIG), without filling a disk.
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_events_the_disk_refused_are_written_later_in_order(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    recorder = EventLog(path, 1, lambda _: None)
    recorder.record(Notice("a", "first"))
    with _files_no_larger_than(path.stat().st_size):
        recorder.record(Notice("b", "second"))
        assert recorder.problem
    recorder.record(Notice("c", "third"))
    recorder.close()
    assert recorder.problem == ""
    codes = [entry.event.code for entry in read(path).entries if isinstance(entry.event, Notice)]
    assert codes == ["a", "b", "c"]


def test_events_the_disk_refused_keep_the_time_at_which_they_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, now = tmp_path / "journal.jsonl", [100.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    recorder = EventLog(path, 1, lambda _: None)
    with _files_no_larger_than(0):
        recorder.record(Notice("a", "on a full disk"))
    now[0] = 200.0
    recorder.record(Notice("b", "later"))
    recorder.close()
    assert [entry.time_seconds for entry in read(path).entries] == [100.0, 200.0]


def test_user_is_told_once_of_a_journal_that_cannot_be_written(tmp_path: Path) -> None:
    path, said = tmp_path / "journal.jsonl", list[str]()
    event_log = EventLog(path, 1, said.append)
    with _files_no_larger_than(0):
        event_log.record(Notice("a", "first"))
        event_log.record(Notice("b", "second"))
    assert said[0] == "first"
    assert "journal cannot be written" in said[1]
    assert said[2:] == ["second"]


def test_a_reason_that_was_told_is_not_told_again(tmp_path: Path) -> None:
    said = list[str]()
    log = EventLog(tmp_path / "journal.jsonl", 1, said.append)
    log.record(Restored(5, 0, 5, "not_exact", "a generator", 0.5, 0))
    for reason in ("a generator", "a cache", "a cache"):
        log.record(LevelKnown("not_exact", reason))
    log.close()
    assert [line.rpartition(": ")[2] for line in said] == ["a generator", "a cache"]


def test_a_stop_is_told_once(tmp_path: Path) -> None:
    said: list[str] = []
    event_log = EventLog(tmp_path / "journal.jsonl", 1, said.append)
    for event in (
        StopRequested("command", "graceful"),
        StopRequested("cluster", "graceful", reason="worker 0: it was stopped"),
        MemberReleased("worker 0", "stopped", 75, "it was stopped"),
    ):
        event_log.record(event)
    assert len(said) == 1
    event_log.record(StopRequested("command", "now"))
    assert said[1:] == ["stopping immediately, at the last snapshot if there is one."]
