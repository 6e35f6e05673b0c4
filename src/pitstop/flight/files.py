"""The files of a flight recorder, as docs/format.md specifies them.

The two files of a level alternate, so the disk space has a bound, and no name ever vanishes while
somebody reads.
"""

import itertools
import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pitstop import journal
from pitstop.flight.sample import Sample
from pitstop.machine.regular_file import open_regular
from pitstop.record import build

_TOLD = ("loss", "learning_rate", "metrics")
"""What the training reported: values need not be finite."""
LEVELS = 5
THINNING = 10  # samples of a level for one sample of the level above
SAMPLES_PER_FILE = 600
BYTES_PER_FILE = 1_500_000
"""Whichever is reached first ends a file; a run of many processes has large samples."""

_HALVES = ("a", "b")
_LONGEST_LINE_BYTES = 256 * 1024
_NUMBER = re.compile(rb'\{"number":(\d+),.*\n')


def encode(sample: Sample) -> bytes:
    """One line: a JSON object with a checksum, without None; "nan" and "inf" are text."""
    return journal.seal(json.dumps(sample, default=_known, separators=(",", ":")))


def decode(line: bytes) -> Sample | None:
    """The sample of a line, without members that are not known; None when it is damaged."""
    try:
        return build(Sample, "sample", journal.unseal(line))
    except ValueError:
        return None


def _known(value: Any) -> dict[str, Any]:
    return {
        name: _in_json(each) if name in _TOLD else each
        for name, each in vars(value).items()
        if each not in (None, [], {}, "")
    }


def _in_json(told: Any) -> Any:
    if isinstance(told, dict):
        return {name: _in_json(each) for name, each in told.items()}
    return told if math.isfinite(told) else str(told)


def file_name(level: int, half: str = "a") -> str:
    return f"flight.{level}.{half}.jsonl"


class FlightFiles:
    """Appends the samples of one attempt; only one process may."""

    def __init__(self, attempt_dir: Path) -> None:
        self._levels = [_Level(attempt_dir, level) for level in range(LEVELS)]

    def append(self, sample: Sample) -> None:
        line = encode(sample)
        for level, file in enumerate(self._levels):
            if sample.number % THINNING**level == 0:
                file.append(line)

    def close(self) -> None:
        for file in self._levels:
            file.close()


class _Level:
    def __init__(self, folder: Path, level: int) -> None:
        self._paths = itertools.cycle(folder / file_name(level, half) for half in _HALVES)
        self._fd = -1
        self._lines = 0
        self._size_bytes = 0
        self._torn = False

    def append(self, line: bytes) -> None:
        is_long = self._lines >= SAMPLES_PER_FILE
        if self._fd < 0 or is_long or self._size_bytes + len(line) > BYTES_PER_FILE:
            self._begin()
        # A full disk may have cut the line before this one short.
        whole = b"\n" + line if self._torn else line
        self._lines += 1
        self._size_bytes += len(whole)
        self._torn = os.write(self._fd, whole) < len(whole)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _begin(self) -> None:
        self.close()
        self._lines = self._size_bytes = 0
        flags = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(next(self._paths), flags, 0o644)


def newest_paths(attempt_dir: Path) -> tuple[Path, ...]:
    return tuple(attempt_dir / file_name(0, half) for half in _HALVES)


def read_last(attempt_dir: Path) -> Sample | None:
    last = filter(None, map(_last_sample, newest_paths(attempt_dir)))
    return max(last, key=lambda each: each.number, default=None)


def _last_sample(path: Path) -> Sample | None:
    try:
        with open_regular(path) as file:
            size_bytes = file.seek(0, os.SEEK_END)
            file.seek(max(0, size_bytes - _LONGEST_LINE_BYTES))
            found = file.read().splitlines(keepends=True)
    except OSError:
        return None
    return next(filter(None, map(decode, reversed(found))), None)


def lines(attempt_dir: Path) -> Iterator[bytes]:
    for level in range(LEVELS):
        for half in _HALVES:
            path = attempt_dir / file_name(level, half)
            if path.is_file():
                yield from path.read_bytes().splitlines(keepends=True)


def read_spaced(attempt_dir: Path, most: int) -> tuple[Sample, ...]:
    """About `most` samples, oldest first: half are the last ones, the others are evenly spread."""
    found = {int(at[1]): line for line in lines(attempt_dir) if (at := _NUMBER.match(line))}
    numbers = sorted(found)
    half = most // 2
    before, recent = numbers[:-half], numbers[-half:]
    every = max(1, -(-len(before) // half))
    chosen = (found[number] for number in (*before[::every], *recent))
    return tuple(filter(None, map(decode, chosen)))
