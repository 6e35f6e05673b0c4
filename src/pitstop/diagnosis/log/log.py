"""A log that was read: its lines, exceptions, signs and progress."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from pitstop.diagnosis.log import lines as log_lines
from pitstop.diagnosis.log import progress, tracebacks
from pitstop.diagnosis.log.lines import Line
from pitstop.diagnosis.log.progress import LogProgress
from pitstop.diagnosis.log.tracebacks import Traceback
from pitstop.diagnosis.signatures import Signature

_GPU = re.compile(
    r"[Cc]reated (?:TensorFlow )?device .*GPU|Adding visible gpu|GPU_\d+_bfc|device:GPU"
    r"|cuda:\d|TPU:\d|/gpu:\d"
    r"|(?:StreamExecutor device|Found device) .*(?:GPU|Tesla|GeForce|NVIDIA)|Loaded cuDNN"
    r"|gpu_device\.cc|bfc_allocator\.cc:\d+\] (?:Sum Total of in-use|[*_]{40})"
)
_CPU = re.compile(
    r"allocator (?:mkl_?)?cpu|device:CPU|/cpu:0|GPU will not be used|platform Host|CpuDevice"
)

_LIST_ITEM = re.compile(r"\s*\d{1,2}\. ")


@dataclass(frozen=True)
class Log:
    """The lines of a log, or those of its beginning and end.

    Attributes:
        lines: undecorated, in order.
    """

    lines: tuple[Line, ...]

    @cached_property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @cached_property
    def tracebacks(self) -> tuple[Traceback, ...]:
        return tracebacks.find(self.lines)

    @cached_property
    def progress(self) -> tuple[LogProgress, ...]:
        """All lines of a training that goes on, in order."""
        inside = [(each.first, each.last, each.group) for each in self.tracebacks if each.headed]
        return tuple(
            each
            for each in progress.find(self.lines)
            if not any(a <= each.number <= b and each.group == g for a, b, g in inside)
        )

    @cached_property
    def inside_tracebacks(self) -> frozenset[int]:
        """Numbers of the lines that belong to an exception."""
        return frozenset(
            number
            for each in self.tracebacks
            if each.headed
            for number in range(each.first, each.last + 1)
        )

    @cached_property
    def listed(self) -> frozenset[int]:
        """Numbers of the lines that somebody has numbered: notes about errors, not a program's."""
        found = frozenset(line.number for line in self.lines if _LIST_ITEM.match(line.text))
        return found if len(found) > 1 else frozenset()

    @cached_property
    def completions(self) -> tuple[Line, ...]:
        return tuple(progress.completions(self.lines))

    @cached_property
    def names_gpu(self) -> bool:
        """A GPU was in use, as its framework says."""
        return bool(_GPU.search(self.text))

    @cached_property
    def names_cpu_only(self) -> bool:
        """It computed on the processor, as its framework says, and no GPU is named."""
        return bool(_CPU.search(self.text)) and not self.names_gpu

    def matches(self, sign: Signature) -> Iterator[tuple[Line, re.Match[str]]]:
        for found in sign.line.finditer(self.text) if sign.line else ():
            yield self.lines[bisect.bisect_right(self._starts, found.start()) - 1], found

    def went_on_after(self, number: int, group: str) -> bool:
        """Training made progress after that line, by more than a bar that is drawn again."""
        before = {each.state for each in self.progress if each.number <= number}
        after = {
            each.state
            for each in self.progress
            if each.number > number and each.group == group and each.state not in before
        }
        return len(after) > 1

    def began_after(self, number: int, group: str) -> bool:
        """An epoch that had not been there before began after that line."""
        before = {each.state for each in self.progress if each.number <= number}
        return any(
            each.epoch is not None and each.state not in before
            for each in self.progress
            if each.number > number and each.group == group
        )

    @cached_property
    def _starts(self) -> list[int]:
        starts, place = [], 0
        for line in self.lines:
            starts.append(place)
            place += len(line.text) + 1
        return starts


def parse(text: str, first_number: int = 1) -> Log:
    """The log of a cleaned text, whose first line has that number."""
    return Log(tuple(log_lines.split(text, first_number)))
