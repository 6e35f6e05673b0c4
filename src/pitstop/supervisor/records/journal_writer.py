"""Keeps the journal of an attempt, also when the disk is full for a while."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path

from pitstop import events
from pitstop.journal import Journal

_MOST_KEPT = 1000
# What a diagnosis cannot do without is on disk before anything else happens.
_DURABLE = (
    events.AttemptEnded,
    events.AttemptStarted,
    events.CheckpointCommitted,
    events.ExceptionRaised,
    events.ResumeChosen,
    events.StopRequested,
    events.TrainerExited,
    events.TrainerStopped,
    events.TrainingStalled,
)


class JournalWriter:
    """Appends events in order; those the disk refuses are tried again later."""

    def __init__(self, path: Path, attempt: int) -> None:
        """Opens the journal, or raises `OSError`."""
        self._journal = Journal(path, attempt)
        self._waiting: deque[tuple[float, events.Event]] = deque(maxlen=_MOST_KEPT)
        self.problem = ""

    def record(self, event: events.Event) -> None:
        """Writes an event, after those that could not be written before."""
        durable = isinstance(event, _DURABLE)
        self._waiting.append((time.time(), event))
        try:
            while self._waiting:
                seconds, first = self._waiting[0]
                self._journal.append(first, durable=durable, time_seconds=seconds)
                self._waiting.popleft()
            self.problem = ""
        except OSError as error:
            self.problem = error.strerror or str(error)

    def close(self) -> None:
        try:
            self._journal.close()
        except OSError as error:
            self.problem = error.strerror or str(error)
