"""The journal gives back what was written, and only that."""

from __future__ import annotations

import errno
import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop import journal
from pitstop.events import AttemptStarted, Event, Notice, ScriptEnded, UnknownEvent
from pitstop.journal import Entry, Journal, decode, encode
from tests.strategies import any_event

_TIMES = st.integers(0, 4_000_000_000).map(float)
_ENTRIES = st.builds(Entry, _TIMES, st.integers(0, 1000), any_event)
_STARTED = AttemptStarted(
    attempt=2, command=["python", "t.py"], supervisor_pid=10, trainer_pid=11, host="box"
)


def _events(path: Path) -> list[Event]:
    return [entry.event for entry in journal.read(path).entries]


@given(entry=_ENTRIES)
def test_a_line_gives_back_its_entry(entry: Entry) -> None:
    line = encode(entry)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line) == entry


@given(entry=_ENTRIES, data=st.data())
def test_any_flipped_bit_is_noticed(entry: Entry, data: st.DataObject) -> None:
    line = bytearray(encode(entry))
    line[data.draw(st.integers(0, len(line) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert decode(bytes(line)) is None


@given(entry=_ENTRIES, data=st.data())
def test_any_torn_line_is_noticed(entry: Entry, data: st.DataObject) -> None:
    line = encode(entry)
    assert decode(line[: data.draw(st.integers(0, len(line) - 1))]) is None


def test_lines_are_plain_json_with_a_checksum() -> None:
    record = json.loads(encode(Entry(12.5, 3, ScriptEnded(step=4))))
    assert record["time"] == 12.5
    assert record["attempt"] == 3
    assert record["event"] == {"kind": "script_ended", "step": 4}
    assert len(record["crc32"]) == 8


def test_an_event_keeps_its_own_attempt_field() -> None:
    entry = Entry(1.0, 9, _STARTED)
    assert decode(encode(entry)) == entry


def test_a_missing_file_is_an_empty_journal(tmp_path: Path) -> None:
    assert journal.read(tmp_path / "journal.jsonl") == journal.JournalText((), 0)


@pytest.mark.parametrize("durable", [False, True])
def test_appended_events_are_read_in_order(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "journal.jsonl"
    for attempt in (1, 2):
        with Journal(path, attempt) as writer:
            writer.append(_STARTED, durable=durable)
            writer.append(ScriptEnded(step=attempt), durable=durable)
    text = journal.read(path)
    assert text.damaged_lines == 0
    assert [entry.attempt for entry in text.entries] == [1, 1, 2, 2]
    assert _events(path) == [_STARTED, ScriptEnded(1), _STARTED, ScriptEnded(2)]


def test_times_are_stamped_and_never_run_backwards(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path, 1) as writer:
        for step in range(5):
            writer.append(ScriptEnded(step))
    times = [entry.time_seconds for entry in journal.read(path).entries]
    assert times == sorted(times)
    assert abs(times[-1] - path.stat().st_mtime) < 60


@pytest.mark.parametrize("kept_bytes", [1, 20, -2])
def test_half_a_line_from_a_crash_costs_that_line_only(tmp_path: Path, kept_bytes: int) -> None:
    path = tmp_path / "journal.jsonl"
    whole = encode(Entry(1.0, 1, ScriptEnded(1)))
    path.write_bytes(whole + encode(Entry(2.0, 1, ScriptEnded(2)))[:kept_bytes])
    with Journal(path, 2) as writer:
        writer.append(ScriptEnded(3))
    assert _events(path) == [ScriptEnded(1), ScriptEnded(3)]
    assert journal.read(path).damaged_lines == 1


def test_a_line_that_lacks_only_its_newline_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(encode(Entry(1.0, 1, ScriptEnded(1)))[:-1])
    with Journal(path, 2) as writer:
        writer.append(ScriptEnded(2))
    assert _events(path) == [ScriptEnded(1), ScriptEnded(2)]


def test_a_damaged_line_in_the_middle_is_counted_and_skipped(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    lines = [encode(Entry(float(step), 1, ScriptEnded(step))) for step in range(3)]
    path.write_bytes(lines[0] + lines[1].replace(b'"step":1', b'"step":7') + lines[2])
    assert _events(path) == [ScriptEnded(0), ScriptEnded(2)]
    assert journal.read(path).damaged_lines == 1


def test_a_kind_of_a_newer_writer_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    newer = UnknownEvent("warp_engaged", {"factor": 9, "time": "late", "attempt": "odd"})
    with Journal(path, 1) as writer:
        writer.append(newer)
    assert _events(path) == [newer]


def test_a_full_disk_raises_and_later_lines_stay_whole(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path, 1) as writer:
        writer.append(ScriptEnded(1))
        limit_bytes = path.stat().st_size + 10
        with _file_size_limit(limit_bytes), pytest.raises(OSError, match="No space") as caught:
            writer.append(Notice("disk", "this one does not fit"))
        writer.append(ScriptEnded(2))
    assert caught.value.errno == errno.ENOSPC
    assert _events(path) == [ScriptEnded(1), ScriptEnded(2)]
    assert journal.read(path).damaged_lines == 1


def test_children_do_not_inherit_the_journal(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.jsonl", 1) as writer:
        assert not os.get_inheritable(writer._fd)


@contextmanager
def _file_size_limit(size_bytes: int) -> Iterator[None]:
    """The kernel cuts a write at this size, as a disk that fills up does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
