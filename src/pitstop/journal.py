"""The run's record: append-only JSON lines, as docs/format.md specifies them."""

import errno
import json
import math
import os
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self, TypeVar

from pitstop.errors import RunFolderInvalid
from pitstop.events import Event, JsonValue, from_record, to_record
from pitstop.machine.regular_file import NoRegularFile, open_regular
from pitstop.masking import masked_tree
from pitstop.record import Frozen

_SUFFIX = ',"crc32":"{:08x}"}}\n'
_SUFFIX_BYTES = len(_SUFFIX.format(0))
_Event = TypeVar("_Event", bound=Event)


class Entry(Frozen):
    """One line of the journal: the event, its attempt, and when it happened."""

    time_seconds: float
    attempt: int
    event: Event


def events_of(entries: Iterable[Entry], kind: type[_Event]) -> list[_Event]:
    return [entry.event for entry in entries if isinstance(entry.event, kind)]


def with_attempts(entries: Iterable[Entry], kind: type[_Event]) -> list[tuple[int, _Event]]:
    """The events of one kind, each behind the number of its attempt."""
    return [(each.attempt, each.event) for each in entries if isinstance(each.event, kind)]


def last_of(entries: Iterable[Entry], kind: type[_Event]) -> _Event | None:
    return next(reversed(events_of(entries, kind)), None)


def of_last_attempt(entries: Sequence[Entry]) -> list[Entry]:
    newest = max((each.attempt for each in entries), default=0)
    return [each for each in entries if each.attempt == newest]


class JournalText(Frozen):
    """What a journal file holds: good entries in order, and how many were damaged."""

    entries: tuple[Entry, ...]
    damaged_lines: int


def seal(text: str) -> bytes:
    """A line with its checksum, newline included, from a JSON object with a member or more."""
    body = text[:-1].encode()
    return body + _SUFFIX.format(zlib.crc32(body)).encode()


def unseal(line: bytes) -> dict[str, JsonValue] | None:
    body, suffix = line[:-_SUFFIX_BYTES], line[-_SUFFIX_BYTES:]
    if suffix != _SUFFIX.format(zlib.crc32(body)).encode():
        return None
    try:
        record: dict[str, JsonValue] = json.loads(body + b"}")
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def encode(entry: Entry) -> bytes:
    event = masked_tree(to_record(entry.event))
    record: dict[str, JsonValue] = {
        "time": round(float(entry.time_seconds), 6),
        "attempt": entry.attempt,
        "event": event,
    }
    return seal(json.dumps(record, ensure_ascii=True, separators=(",", ":")))


def decode(line: bytes) -> Entry | None:
    record = unseal(line) or {}
    time_seconds, attempt, event = (record.get(name) for name in ("time", "attempt", "event"))
    if not isinstance(time_seconds, float) or not math.isfinite(time_seconds):
        return None
    if type(attempt) is not int or not isinstance(event, dict):
        return None
    return Entry(time_seconds, attempt, from_record(event))


def read(path: Path) -> JournalText:
    """All entries of a journal; a missing file is an empty journal."""
    entries: list[Entry] = []
    damaged = 0
    for line in _lines(path):
        entry = decode(line)
        if entry is None:
            damaged += 1
        else:
            entries.append(entry)
    return JournalText(tuple(entries), damaged)


def first_of(path: Path, kind: type[_Event], attempt: int | None = None) -> Entry | None:
    """Read no further than to the first one, of this attempt or of any."""
    entries = filter(None, map(decode, _lines(path)))
    kinds = (each for each in entries if isinstance(each.event, kind))
    return next((each for each in kinds if attempt in (None, each.attempt)), None)


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with open_regular(path) as file:
            yield from file
    except FileNotFoundError:
        return
    except NoRegularFile:
        raise RunFolderInvalid(f"{path} is not a regular file.", "Move it away.") from None


class Journal:
    """Appends events of one attempt to the run's journal."""

    def __init__(self, path: Path, attempt: int) -> None:
        self.path = path
        self.attempt = attempt
        self._fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._torn = True  # until looked at: a crash can leave half a line

    def append(
        self, event: Event, *, durable: bool = False, time_seconds: float | None = None
    ) -> None:
        """Writes one line with one `write`, flushed if `durable`; `OSError` for a full disk."""
        seconds = time.time() if time_seconds is None else time_seconds
        line = encode(Entry(seconds, self.attempt, event))
        if self._torn:
            # A newline keeps the half line from eating the one after it.
            size_bytes = os.fstat(self._fd).st_size
            if size_bytes and os.pread(self._fd, 1, size_bytes - 1) != b"\n":
                os.write(self._fd, b"\n")
            self._torn = False
        written_bytes = os.write(self._fd, line)
        self._torn = written_bytes < len(line)
        if self._torn:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        if durable:
            os.fsync(self._fd)

    def close(self) -> None:
        os.fsync(self._fd)
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
