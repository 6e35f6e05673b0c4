"""Reading a log of any size: its beginning and its end, and what stands out in between."""

from __future__ import annotations

import codecs
import mmap
import os
from dataclasses import dataclass
from pathlib import Path

from pitstop.diagnosis import output
from pitstop.diagnosis.log.lines import split
from pitstop.diagnosis.log.log import Log

HEAD_BYTES = 64 * 1024
TAIL_BYTES = 512 * 1024
_AROUND_BYTES = 16 * 1024
_CHUNK_BYTES = 16 << 20
_ANCHORS = (b"Traceback (most recent call last)", b"Fatal Python error")
_SAMPLE_BYTES = 4096
_MOSTLY = 0.3


@dataclass(frozen=True)
class Piece:
    """A part of a file: where it begins, and its bytes."""

    start: int
    data: bytes


def read(path: Path) -> Log:
    """The log; of a large one its beginning, its end, and its last errors in between.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        size_bytes = os.fstat(file.fileno()).st_size
        if size_bytes <= HEAD_BYTES + TAIL_BYTES:
            data = file.read()
            return Log(tuple(split(output.clean(decode(data)))))
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            return _large(view, size_bytes)


def decode(data: bytes, encoding: str = "") -> str:
    """The text of bytes of unknown encoding; what cannot be decoded is replaced."""
    text = data.decode(encoding or encoding_of(data), errors="replace")
    return text.lstrip("\ufeff").replace("\0", "")


def encoding_of(data: bytes) -> str:
    """The likely encoding, by its mark at the beginning, by zero bytes, or by what fits."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    sample = data[:_SAMPLE_BYTES]
    half = max(1, len(sample) // 2)
    if sample[1::2].count(0) > half * _MOSTLY:
        return "utf-16-le"
    if sample[0::2].count(0) > half * _MOSTLY:
        return "utf-16-be"
    return "utf-8"


def _large(view: mmap.mmap, size_bytes: int) -> Log:
    encoding = encoding_of(view[:_SAMPLE_BYTES])
    pieces = [Piece(0, view[:HEAD_BYTES]), *_middle(view, size_bytes), _tail(view, size_bytes)]
    lines = []
    place, number = 0, 1
    for piece in pieces:
        start = max(piece.start, place)
        number += _newlines(view, place, start)
        data = piece.data[start - piece.start :]
        text = output.clean(decode(data, encoding))
        lines += list(split(text, number))
        place, number = start + len(data), number + data.count(b"\n")
    return Log(tuple(lines))


def _tail(view: mmap.mmap, size_bytes: int) -> Piece:
    start = size_bytes - TAIL_BYTES
    start -= start % 2  # a character of UTF-16 is not cut
    return Piece(start, view[start:])


def _middle(view: mmap.mmap, size_bytes: int) -> list[Piece]:
    """What is around the last of each anchor between head and tail."""
    end = size_bytes - TAIL_BYTES
    places = {view.rfind(anchor, HEAD_BYTES, end) for anchor in _ANCHORS} - {-1}
    starts = sorted(max(HEAD_BYTES, place - 1024) for place in places)
    return [Piece(start, view[start : min(end, start + _AROUND_BYTES)]) for start in starts]


def _newlines(view: mmap.mmap, start: int, end: int) -> int:
    count = 0
    for place in range(start, end, _CHUNK_BYTES):
        count += view[place : min(end, place + _CHUNK_BYTES)].count(b"\n")
    return count
