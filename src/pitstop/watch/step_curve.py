"""The steps of an attempt in bounded memory: of each span of steps those that a line needs.

A span keeps four records: its first, the one of the least loss, the one of the greatest, and the
first whose loss is no finite number.  Where there are too many spans, two become one: what is
kept of both holds what would be kept of all (min-max downsampling, level by level).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pitstop.steps import MAGIC, StepRecord
from pitstop.watch.growing_file import GrowingFile

_RECORD = np.dtype(
    [
        ("step", "<u8"),
        ("fit", "<u4"),
        ("epoch", "<u4"),
        ("loss", "<f8"),
        ("time", "<f8"),
        ("metrics", "<u4"),
        ("reserved", "<u4"),
    ]
)
"""The layout that `pitstop.steps` describes."""
_MOST_SPANS = 256

_Records = NDArray[np.void]


class StepCurve:
    """Follows one `steps.bin`."""

    def __init__(self, path: Path) -> None:
        self._file = GrowingFile(path)
        self._bytes = b""
        self._begun = False
        self._width = 1
        self._spans = np.empty((0, 4), _RECORD)
        self._open: _Records = np.empty(0, _RECORD)
        self._newest: _Records = self._open

    def refresh(self) -> None:
        """Reads what is new; costs what that costs, however long the file is."""
        for block in self._file.blocks():
            self._bytes += block
            if not self._begun:
                self._bytes = self._bytes.removeprefix(MAGIC)
                self._begun = True
            whole = len(self._bytes) // _RECORD.itemsize * _RECORD.itemsize
            self._add(np.frombuffer(self._bytes[:whole], _RECORD))
            self._bytes = self._bytes[whole:]

    def records(self) -> list[StepRecord]:
        """What is kept, in the order of time, the newest record too."""
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
    """The four records of each row."""
    if not len(spans):
        return np.empty((0, 4), _RECORD)
    losses = spans["loss"]
    finite = np.isfinite(losses)
    least = np.where(finite, losses, np.inf).argmin(axis=1)
    greatest = np.where(finite, losses, -np.inf).argmax(axis=1)
    chosen = np.stack([np.zeros_like(least), least, greatest, (~finite).argmax(axis=1)], axis=1)
    rows: _Records = np.take_along_axis(spans, chosen, axis=1)
    return rows
