"""A log that was read: its lines, exceptions, signs and progress."""

import bisect
import codecs
import io
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

from pitstop.diagnosis.log import completion, progress, tracebacks
from pitstop.diagnosis.log import lines as log_lines
from pitstop.diagnosis.log.lines import Line, split
from pitstop.diagnosis.log.progress import LogProgress
from pitstop.diagnosis.log.tracebacks import Traceback
from pitstop.diagnosis.signatures.tables import Signature
from pitstop.record import Frozen

_GPU = re.compile(
    r"[Cc]reated (?:TensorFlow )?device .*GPU|Adding visible gpu|GPU_\d+_bfc|device:GPU"
    r"|cuda:\d|TPU:\d|/gpu:\d"
    r"|(?:StreamExecutor device|Found device) .*(?:GPU|Tesla|GeForce|NVIDIA)|Loaded cuDNN"
    r"|gpu_device\.cc|bfc_allocator\.cc:\d+\] (?:Sum Total of in-use|[*_]{40})"
)
_CPU = re.compile(
    r"allocator (?:mkl_?)?cpu|device:CPU|/cpu:0|GPU will not be used|platform Host|CpuDevice"
)

_LOADED = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[.\d]*: I .*cpu_feature_guard\.cc:\d+\]")
_BETWEEN_RUNS = timedelta(minutes=1)
_LIST_ITEM = re.compile(r"\s*\d{1,2}\. ")
HEAD_BYTES = 64 * 1024
TAIL_BYTES = 512 * 1024
_AROUND_BYTES = 16 * 1024
_BEFORE_BYTES = 2 * 1024
_CHUNK_BYTES = 4 << 20
_ANCHORS = ("Traceback (most recent call last)", "Fatal Python error")
_LONGEST_ANCHOR_BYTES = 4 * max(map(len, _ANCHORS))
_SAMPLE_BYTES = 4096
_MOSTLY = 0.3
_FEWEST_AFTER_AN_ERROR = 60
_INSTALLED = re.compile(r"[\w.-]+(?:==| +)v?\d[\w.]*(?: .*)?$")
"""A package and its version, of which a report about a failure lists many."""


class Log(Frozen):
    """The undecorated lines of a log, or those of its beginning and end."""

    lines: tuple[Line, ...]

    @cached_property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @cached_property
    def tracebacks(self) -> tuple[Traceback, ...]:
        return tracebacks.find(self.lines)

    @cached_property
    def progress(self) -> tuple[LogProgress, ...]:
        inside = [(each.first, each.last, each.group) for each in self.tracebacks if each.headed]
        return tuple(
            each
            for each in progress.find(self.lines)
            if not any(a <= each.number <= b and each.group == g for a, b, g in inside)
        )

    @cached_property
    def inside_tracebacks(self) -> frozenset[int]:
        groups = {line.number: line.group for line in self.lines}
        return frozenset(
            number
            for each in self.tracebacks
            if each.headed
            # what stands before its header is no part of it
            for number in range(each.first + (each.first < each.last), each.last + 1)
            if groups.get(number) == each.group
        )

    @cached_property
    def listed(self) -> frozenset[int]:
        """Numbers of the lines that somebody has numbered: notes about errors, not a program's."""
        found = frozenset(line.number for line in self.lines if _LIST_ITEM.match(line.text))
        return found if len(found) > 1 else frozenset()

    @cached_property
    def completions(self) -> tuple[Line, ...]:
        found = (self.passed_tests,) if self.passed_tests else ()
        return (*completion.completions(self.lines), *found)

    @cached_property
    def last_words(self) -> Line | None:
        return completion.last_words(self.lines, self.progress)

    @cached_property
    def passed_tests(self) -> Line | None:
        return completion.passed_tests(self.lines)

    @cached_property
    def names_gpu(self) -> bool:
        return bool(_GPU.search(self.text))

    @cached_property
    def names_cpu_only(self) -> bool:
        return bool(_CPU.search(self.text)) and not self.names_gpu

    def matches(self, sign: Signature) -> Iterator[tuple[Line, re.Match[str]]]:
        for found in sign.line.finditer(self.text) if sign.line else ():
            yield self.lines[bisect.bisect_right(self._starts, found.start()) - 1], found

    def went_on_after(self, number: int, group: str) -> bool:
        """Training made progress after that line, by more than a bar that is drawn again."""
        is_new = len({each.state for each in self._new_after(number, group)}) > 1
        return is_new or self._ran_again_after(number)

    def told_more_after(self, number: int) -> bool:
        """So many lines follow that are part of no exception that it must have been caught."""
        return len(self._told) - bisect.bisect_right(self._told, number) > _FEWEST_AFTER_AN_ERROR

    @cached_property
    def _told(self) -> list[int]:
        inside = self.inside_tracebacks
        return [
            line.number
            for line in self.lines
            if line.text.strip() and line.number not in inside and not _INSTALLED.match(line.text)
        ]

    def _ran_again_after(self, number: int) -> bool:
        """TensorFlow was loaded before that line and, later than tasks of one run, after it."""
        before = [each for at, each in self._loads if at <= number]
        after = [each for at, each in self._loads if at > number]
        return bool(before and after) and after[-1] - before[-1] > _BETWEEN_RUNS

    def began_after(self, number: int, group: str) -> bool:
        return any(each.epoch is not None for each in self._new_after(number, group))

    def _new_after(self, number: int, group: str) -> Iterator[LogProgress]:
        before = {each.state for each in self.progress if each.number <= number}
        after = (each for each in self.progress if each.number > number and each.group == group)
        return (each for each in after if each.state not in before)

    @cached_property
    def _loads(self) -> list[tuple[int, datetime]]:
        loads = []
        for line in self.lines:
            found = _LOADED.match(line.text)
            if found:
                with suppress(ValueError):  # a 31st of February
                    loads.append((line.number, datetime.fromisoformat(found[1])))
        return loads

    @cached_property
    def _starts(self) -> list[int]:
        starts, place = [], 0
        for line in self.lines:
            starts.append(place)
            place += len(line.text) + 1
        return starts


def parse(text: str) -> Log:
    return Log(tuple(log_lines.split(text)))


class Piece(Frozen):
    """A part of a file: where it begins, the number of its first line, and its bytes."""

    start: int
    number: int
    data: bytes


def read_log(path: Path) -> Log:
    """The log; of a large one its beginning, its end, and what stands out between; or `OSError`."""
    with path.open("rb", buffering=0) as file:
        size_bytes = os.fstat(file.fileno()).st_size
        if size_bytes <= HEAD_BYTES + TAIL_BYTES:
            return Log(tuple(split(log_lines.clean(decode(file.readall())))))
        pieces = tuple(_pieces(file, size_bytes))
    encoding = encoding_of(pieces[0].data)
    texts = ((log_lines.clean(decode(each.data, encoding)), each.number) for each in pieces)
    return Log(tuple(line for text, number in texts for line in split(text, number)))


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


def _pieces(file: io.FileIO, size_bytes: int) -> Iterator[Piece]:
    head = Piece(0, 1, os.pread(file.fileno(), HEAD_BYTES, 0))
    yield head
    encoding = encoding_of(head.data)
    end = size_bytes - TAIL_BYTES
    end -= end % 2  # a character of UTF-16 is not cut
    place, number = HEAD_BYTES, 1 + head.data.count(b"\n")
    starts: dict[bytes, int] = {}
    for chunk in _chunks(file, place, end, _LONGEST_ANCHOR_BYTES):
        for pattern in (anchor.encode(encoding) for anchor in _ANCHORS):
            at = chunk.data.rfind(pattern)
            starts |= {pattern: chunk.start + at} if at >= 0 else {}
    for at in sorted(set(starts.values())):
        start = max(place, at - _BEFORE_BYTES + at % 2)
        if start < end:
            number += _newlines(file, place, start)
            around = os.pread(file.fileno(), min(_AROUND_BYTES, end - start), start)
            yield Piece(start, number, around)
            place, number = start + len(around), number + around.count(b"\n")
    number += _newlines(file, place, end)
    yield Piece(end, number, os.pread(file.fileno(), size_bytes - end, end))


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
