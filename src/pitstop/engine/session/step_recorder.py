"""What is told of the steps of this attempt: their record, bad losses, vital signs."""

import functools
import math
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pitstop import journal
from pitstop.events import AttemptStarted, Event, FitStarted, NonFiniteLoss, Notice
from pitstop.link.messages import VitalsReport
from pitstop.steps import FILE_NAME, StepRecord, StepTrace, read_spaced
from pitstop.store.run_folder import JOURNAL_FILE

_Place = tuple[int, int, int]  # a step of the run, its epoch, and its number in that
_Optimizer = Callable[[], dict[str, Any]]  # fields of `NonFiniteLoss`

_REMEMBERED = 8
_NEVER_NS = 1 << 62
_MOST_SHARE = 0.001
"""Of the training's time; where looking at its vital signs costs more, it is done less often."""


class StepRecorder:
    """A step trace that ends when the disk refuses to be written, and reports that."""

    def __init__(self, attempt_dir: Path, report: Callable[[Event], None]) -> None:
        self._path = attempt_dir / FILE_NAME
        self._report = report
        self._trace: StepTrace | None = None
        self._given_up = False

    def record(self, record: StepRecord) -> None:
        if self._given_up:
            return
        try:
            if self._trace is None:
                self._trace = StepTrace(self._path)
            self._trace.append(record)
        except OSError as error:
            self._given_up = True
            message = f"The loss of each step is no longer recorded: {error.strerror}."
            remedy = "Training and checkpoints are not affected; `pitstop compare` is."
            self._report(Notice("steps_not_recorded", message, remedy))


@functools.cache
def began_seconds(attempt_dir: Path) -> float:
    """When the first of the attempts before this one began to train; infinite if none had."""
    others = (each for each in attempt_dir.parent.glob("*") if each.name != attempt_dir.name)
    found = (read_spaced(each / FILE_NAME, 2)[:1] for each in others)
    began = [record.time_seconds for first in found for record in first]
    # A loop of the script's own is reported after its first steps, a `fit` before them.
    fit = journal.first_of(attempt_dir.parent.parent / JOURNAL_FILE, FitStarted)
    if fit is not None and str(fit.attempt) != attempt_dir.name:
        began.append(fit.time_seconds)
    return min(began, default=math.inf)


def started_seconds(attempt_dir: Path, attempt: int | None = None) -> float:
    """When an attempt of the run started, before its process did; else its first one."""
    first = journal.first_of(attempt_dir.parent.parent / JOURNAL_FILE, AttemptStarted, attempt)
    if first is None or not isinstance(first.event, AttemptStarted):
        return time.time()
    return first.event.started_seconds or first.time_seconds


class LossWatch:
    """Reports the first non-finite loss of a process, and the losses before it."""

    def __init__(self, report: Callable[[Event], None]) -> None:
        self._report = report
        self._recent: deque[float] = deque(maxlen=_REMEMBERED)
        self._reported = False

    def note(self, place: _Place, loss: float, optimizer: _Optimizer = dict) -> None:
        """Checks the loss of a step; asks about the optimizer once, when the loss is not finite."""
        if math.isfinite(loss):
            self._recent.append(loss)
        else:
            self.tell(place, "loss", repr(loss), optimizer)

    def tell(self, place: _Place, metric: str, value: str, optimizer: _Optimizer) -> None:
        if not self._reported:
            self._reported = True
            recent = list(self._recent)
            last = recent[-1] if recent else None
            self._report(NonFiniteLoss(*place, metric, value, last, recent, **optimizer()))


class Vitals:
    """Asked at every step boundary whether it is time; that is one comparison.

    The two times are those of the steps whose waiting for input is measured; None where none is.
    """

    def __init__(self, send: Callable[[VitalsReport], None], every_seconds: float) -> None:
        self.due_ns = 0 if every_seconds else _NEVER_NS
        self.input_seconds: float | None = None
        self.step_seconds: float | None = None
        self._send = send
        self._every_ns = int(every_seconds * 1e9)

    def tell(self, facts: Callable[[], Mapping[str, Any]]) -> None:
        before_ns = time.thread_time_ns()
        self._send(
            VitalsReport(
                **facts(),
                python_blocks=sys.getallocatedblocks(),
                input_seconds=self.input_seconds,
                step_seconds=self.step_seconds,
            )
        )
        # Processor time: waiting for a processor is no cost of Pitstop.
        cost_ns = time.thread_time_ns() - before_ns
        self.due_ns = time.monotonic_ns() + max(self._every_ns, int(cost_ns / _MOST_SHARE))

    def waited(self, share: float, step_seconds: float) -> None:
        self.input_seconds = (self.input_seconds or 0.0) + share * step_seconds
        self.step_seconds = (self.step_seconds or 0.0) + step_seconds
