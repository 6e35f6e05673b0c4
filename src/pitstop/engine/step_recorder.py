"""Writes the step record of this attempt, and never stands in training's way."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from pitstop.events import Event, Notice
from pitstop.steps import FILE_NAME, StepRecord, StepTrace, read_spaced


class StepRecorder:
    """A step trace that gives up, once and aloud, when the disk refuses."""

    def __init__(self, attempt_dir: Path, report: Callable[[Event], None]) -> None:
        self._path = attempt_dir / FILE_NAME
        self._report = report
        self._trace: StepTrace | None = None
        self._given_up = False

    def record(self, record: StepRecord) -> None:
        """Writes a record; the file is begun with the first one."""
        if self._given_up:
            return
        try:
            if self._trace is None:
                self._trace = StepTrace(self._path)
            self._trace.append(record)
        except OSError as error:
            self._given_up = True
            self._report(
                Notice(
                    "steps_not_recorded",
                    f"The loss of each step is no longer recorded: {error.strerror}.",
                    "Training and checkpoints are not affected; `pitstop compare` is.",
                )
            )


def began_seconds(attempt_dir: Path) -> float:
    """When the first of the attempts before this one had done a step; infinite if none had."""
    others = (each for each in attempt_dir.parent.iterdir() if each.name != attempt_dir.name)
    found = (read_spaced(each / FILE_NAME, 2)[:1] for each in others)
    return min((record.time_seconds for first in found for record in first), default=math.inf)
