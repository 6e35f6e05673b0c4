"""Which processes of this run have written event files: no others are touched."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pitstop import journal
from pitstop.events import AttemptStarted, TrainerConnected
from pitstop.machine.own_process import age_ns

_NAME = re.compile(r".+\.tfevents\.(\d+)\.(.+)\.(\d+)\.\d+\.v2")
_ALWAYS = float("inf")


@dataclass(frozen=True)
class EventWriter:
    """A process, and when it may have begun a file, in seconds since the epoch."""

    host: str
    pid: int
    from_seconds: float
    until_seconds: float = _ALWAYS

    def began(self, path: Path) -> bool:
        """Whether a file's name says that this process has begun it."""
        named = _NAME.fullmatch(path.name)
        if named is None or (named[2], int(named[3])) != (self.host, self.pid):
            return False
        return int(self.from_seconds) <= int(named[1]) <= self.until_seconds


def this_process() -> EventWriter:
    return EventWriter(socket.gethostname(), os.getpid(), time.time() - age_ns() / 1e9)


def earlier_processes(journal_file: Path) -> list[EventWriter]:
    """Those that trained in the attempts that the journal tells of."""
    try:
        return list(_writers(journal.read(journal_file).entries))
    except (OSError, ValueError):
        return []


def _writers(entries: Iterable[journal.Entry]) -> list[EventWriter]:
    found: list[EventWriter] = []
    host, started = "", 0.0
    for entry in entries:
        if isinstance(entry.event, AttemptStarted):
            host, started = entry.event.host, entry.time_seconds
            found = [_until(each, started) for each in found]
        elif isinstance(entry.event, TrainerConnected):
            found.append(EventWriter(host, entry.event.pid, started))
    return found


def _until(writer: EventWriter, seconds: float) -> EventWriter:
    until = min(writer.until_seconds, seconds)
    return EventWriter(writer.host, writer.pid, writer.from_seconds, until)
