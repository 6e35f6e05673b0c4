"""Files that another process appends to, read as they grow, in bounded memory."""

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pitstop.events import ExhaustionForecast
from pitstop.flight import files
from pitstop.flight.forecast import ExhaustionMonitor
from pitstop.flight.sample import Sample
from pitstop.machine.regular_file import open_regular
from pitstop.steps import MAGIC, StepRecord

_BLOCK_BYTES = 1 << 20


class GrowingFile:
    """Gives what is new since the last call: a new file whole, nothing of an unreadable one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._inode = 0
        self._rest = b""

    def blocks(self) -> Iterator[bytes]:
        try:
            file = open_regular(self._path, buffering=0)
        except OSError:
            return
        with file:
            state = os.fstat(file.fileno())
            if state.st_ino != self._inode or state.st_size < self._offset:
                self._offset, self._inode, self._rest = 0, state.st_ino, b""
            file.seek(self._offset)
            while self._offset < state.st_size:
                data = file.read(min(_BLOCK_BYTES, state.st_size - self._offset))
                if not data:
                    return
                self._offset += len(data)
                yield data

    def lines(self) -> list[bytes]:
        """The new whole lines, each with its end; what is not ended yet comes with its end."""
        text = b"".join(self.blocks())
        whole, end, rest = (self._rest + text).rpartition(b"\n")
        self._rest = rest
        return (whole + end).splitlines(keepends=True)


_FEWEST, _MOST = 400, 600


class SampleTail:
    """Reads what the recorder writes; the older half is thinned when there are too many."""

    def __init__(self, attempt_dir: Path) -> None:
        self._halves = [GrowingFile(path) for path in files.newest_paths(attempt_dir)]
        for half in self._halves:
            half.lines()
        self._monitor = ExhaustionMonitor()
        self.samples: list[Sample] = []
        self._take(list(files.read_spaced(attempt_dir, _FEWEST)))

    def refresh(self) -> None:
        lines = chain.from_iterable(half.lines() for half in self._halves)
        found = (files.decode(line) for line in lines)
        last = self.samples[-1].number if self.samples else -1
        self._take([each for each in found if each is not None and each.number > last])
        if len(self.samples) > _MOST:
            half = len(self.samples) // 2
            self.samples = self.samples[:half:2] + self.samples[half:]

    @property
    def forecasts(self) -> list[ExhaustionForecast]:
        """What is going to run out, by the rules of the recorder."""
        return list(self._monitor.present.values())

    def _take(self, new: list[Sample]) -> None:
        new.sort(key=lambda each: each.number)
        for each in new:
            self._monitor.see(each)
        self.samples += new


_RECORD = np.dtype(
    {
        "names": ["step", "fit", "epoch", "loss", "time", "metrics", "reserved"],
        "formats": ["<u8", "<u4", "<u4", "<f8", "<f8", "<u4", "<u4"],
    }
)
"""The layout that `pitstop.steps` describes."""
_MOST_SPANS = 256

_Records = NDArray[np.void]


class StepCurve:
    """The steps of a `steps.bin` in bounded memory: of each span those that a line needs.

    A span keeps its first record, those of the least and the greatest loss, and the first without a
    finite one.  Where there are too many, two become one (min-max downsampling, level by level).
    """

    def __init__(self, path: Path) -> None:
        self._file = GrowingFile(path)
        self._bytes = b""
        self._begun = False
        self._width = 1
        self._spans = np.empty((0, 4), _RECORD)
        self._open: _Records = np.empty(0, _RECORD)
        self._newest: _Records = self._open

    def refresh(self) -> None:
        for block in self._file.blocks():
            self._bytes += block
            if not self._begun:
                self._bytes = self._bytes.removeprefix(MAGIC)
                self._begun = True
            whole = len(self._bytes) // _RECORD.itemsize * _RECORD.itemsize
            self._add(np.frombuffer(self._bytes[:whole], _RECORD))
            self._bytes = self._bytes[whole:]

    def records(self) -> list[StepRecord]:
        parts = [self._spans.ravel(), self._newest]
        if len(self._open):
            parts.append(_telling(self._open[np.newaxis]).ravel())
        kept = sorted(set(np.concatenate(parts).tolist()), key=lambda fields: fields[4])
        return [StepRecord(*fields[:-1]) for fields in kept]

    def _add(self, new: _Records) -> None:
        records = np.concatenate([self._open, new])
        self._newest = new[-1:].copy() if len(new) else self._newest
        count = len(records) // self._width
        whole = records[: count * self._width].reshape(count, self._width)
        self._open = records[count * self._width :].copy()
        self._spans = np.concatenate([self._spans, _telling(whole)])
        while len(self._spans) > _MOST_SPANS:
            self._width *= 2
            even = len(self._spans) // 2 * 2
            # A last one without a partner stays as it is, over fewer steps than the others.
            merged = _telling(self._spans[:even].reshape(even // 2, 8))
            self._spans = np.concatenate([merged, self._spans[even:]])


def _telling(spans: _Records) -> _Records:
    if not len(spans):
        return np.empty((0, 4), _RECORD)
    losses = spans["loss"]
    finite = np.isfinite(losses)
    least = np.where(finite, losses, np.inf).argmin(axis=1)
    greatest = np.where(finite, losses, -np.inf).argmax(axis=1)
    chosen = np.stack([np.zeros_like(least), least, greatest, (~finite).argmax(axis=1)], axis=1)
    rows: _Records = np.take_along_axis(spans, chosen, axis=1)
    return rows
