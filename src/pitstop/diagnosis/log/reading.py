"""Reading a log of any size: its beginning and its end, and what stands out in between."""

from __future__ import annotations

import codecs
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pitstop.diagnosis import output
from pitstop.diagnosis.log.lines import Line, split
from pitstop.diagnosis.log.log import Log

HEAD_BYTES = 64 * 1024
TAIL_BYTES = 512 * 1024
_AROUND_BYTES = 16 * 1024
_BEFORE_BYTES = 2 * 1024
_CHUNK_BYTES = 4 << 20
_ANCHORS = ("Traceback (most recent call last)", "Fatal Python error")
_LONGEST_ANCHOR_BYTES = 4 * max(map(len, _ANCHORS))
_SAMPLE_BYTES = 4096
_MOSTLY = 0.3


@dataclass(frozen=True)
class Piece:
    """A part of a file: where it begins, the number of its first line, and its bytes."""

    start: int
    number: int
    data: bytes


def read(path: Path) -> Log:
    """The log; of a large one its beginning, its end, and what stands out between; or `OSError`."""
    with path.open("rb", buffering=0) as file:
        size_bytes = os.fstat(file.fileno()).st_size
        if size_bytes <= HEAD_BYTES + TAIL_BYTES:
            return Log(tuple(split(output.clean(decode(file.readall())))))
        pieces = tuple(_pieces(file, size_bytes))
    encoding = encoding_of(pieces[0].data)
    return Log(tuple(line for piece in pieces for line in _lines(piece, encoding)))


def decode(data: bytes, encoding: str = "") -> str:
    """The text of bytes of unknown encoding; what cannot be decoded is replaced."""
    text = data.decode(encoding or encoding_of(data), errors="replace")
    return text.lstrip("\ufeff").replace("\0", "")


def encoding_of(data: bytes) -> str:
    """The likely encoding, by its mark at the beginning, by zero bytes, or by what fits."""
    if data.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    if data.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be"
    sample = data[:_SAMPLE_BYTES]
    half = max(1, len(sample) // 2)
    if sample[1::2].count(0) > half * _MOSTLY:
        return "utf-16-le"
    if sample[0::2].count(0) > half * _MOSTLY:
        return "utf-16-be"
    return "utf-8"


def _lines(piece: Piece, encoding: str) -> Iterator[Line]:
    return split(output.clean(decode(piece.data, encoding)), piece.number)


def _pieces(file: io.FileIO, size_bytes: int) -> Iterator[Piece]:
    head = Piece(0, 1, os.pread(file.fileno(), HEAD_BYTES, 0))
    yield head
    encoding = encoding_of(head.data)
    end = size_bytes - TAIL_BYTES
    end -= end % 2  # a character of UTF-16 is not cut
    place, number = HEAD_BYTES, 1 + head.data.count(b"\n")
    starts: dict[bytes, int] = {}
    for chunk in _chunks(file, place, end, _LONGEST_ANCHOR_BYTES):
        starts |= dict(_last_places(chunk, encoding))
    for at in sorted(set(starts.values())):
        start = max(place, at - _BEFORE_BYTES + at % 2)
        if start < end:
            number += _newlines(file, place, start)
            around = os.pread(file.fileno(), min(_AROUND_BYTES, end - start), start)
            yield Piece(start, number, around)
            place, number = start + len(around), number + around.count(b"\n")
    number += _newlines(file, place, end)
    yield Piece(end, number, os.pread(file.fileno(), size_bytes - end, end))


def _last_places(chunk: Piece, encoding: str) -> Iterator[tuple[bytes, int]]:
    for anchor in _ANCHORS:
        pattern = anchor.encode(encoding)
        at = chunk.data.rfind(pattern)
        if at >= 0:
            yield pattern, chunk.start + at


def _chunks(file: io.FileIO, start: int, end: int, overlap: int = 0) -> Iterator[Piece]:
    """The bytes from start to end; each chunk begins again with the end of the one before."""
    while start < end:
        data = os.pread(file.fileno(), min(_CHUNK_BYTES, end - start) + overlap, start)
        if not data:
            return  # it was cut while it was read
        yield Piece(start, 0, data)
        start += min(_CHUNK_BYTES, len(data))


def _newlines(file: io.FileIO, start: int, end: int) -> int:
    return sum(chunk.data.count(b"\n") for chunk in _chunks(file, start, end))
