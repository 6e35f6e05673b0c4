"""The record of every training step; the format is specified in docs/format.md ("steps.bin").

The bytes are written without a buffer, so they survive SIGKILL.  They are not synced, because a
resume needs only the checkpoint.
"""

from __future__ import annotations

import os
import statistics
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

FILE_NAME = "steps.bin"
MAGIC = b"PITSTEP1"
_SMALL_LOSS = 0.1
_GROWN_FACTOR = 10.0
_GROWN_LOSS = 1e4
_RECORD = struct.Struct("<QIIddII")
_VALUE = struct.Struct("<d")


class StepRecord(NamedTuple):
    step: int
    fit: int
    epoch: int
    loss: float
    time_seconds: float
    metrics: int

    def same_bits(self, other: StepRecord) -> bool:
        return (self.step, self.metrics) == (other.step, other.metrics) and (
            _VALUE.pack(self.loss) == _VALUE.pack(other.loss)
        )


def digest(values: Mapping[str, float]) -> int:
    data = b""
    for name, value in values.items():
        data += name.encode() + _VALUE.pack(value)
    return zlib.crc32(data)


class StepTrace:
    def __init__(self, path: Path) -> None:
        """Begins the file; `OSError` where the folder cannot be written."""
        flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(path, flags, 0o644)
        if os.fstat(self._fd).st_size == 0:
            os.write(self._fd, MAGIC)

    def append(self, record: StepRecord) -> None:
        os.write(self._fd, _RECORD.pack(*record, 0))


def has_grown(losses: Sequence[float], last_finite: float | None) -> bool:
    """Whether a loss, `last_finite` or the last ones, went up before it was no number."""
    if last_finite is None:
        return False
    if len(losses) < 3:
        return last_finite > _GROWN_LOSS
    usual = statistics.median(abs(loss) for loss in losses)
    early = statistics.median(abs(loss) for loss in losses[: len(losses) // 2])
    least = _GROWN_FACTOR * max(_SMALL_LOSS, min(usual, early))
    return last_finite > least and last_finite > losses[-2]


def read(path: Path) -> Iterator[StepRecord]:
    """The whole records of a file in order; none when there is no such file."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    if data[: len(MAGIC)] != MAGIC:
        return
    whole = (len(data) - len(MAGIC)) // _RECORD.size * _RECORD.size
    for fields in _RECORD.iter_unpack(data[len(MAGIC) : len(MAGIC) + whole]):
        yield StepRecord(*fields[:-1])


def read_spaced(path: Path, most: int) -> tuple[StepRecord, ...]:
    """At most so many records of a file, evenly spaced, with the first and the last."""
    try:
        file = path.open("rb", buffering=0)
    except FileNotFoundError:
        return ()
    with file:
        if file.read(len(MAGIC)) != MAGIC:
            return ()
        count = (os.fstat(file.fileno()).st_size - len(MAGIC)) // _RECORD.size
        places = {index * (count - 1) // max(1, most - 1) for index in range(most if count else 0)}
        return tuple(_record_at(file.fileno(), place) for place in sorted(places))


def _record_at(fd: int, place: int) -> StepRecord:
    data = os.pread(fd, _RECORD.size, len(MAGIC) + place * _RECORD.size)
    return StepRecord(*_RECORD.unpack(data)[:-1])
