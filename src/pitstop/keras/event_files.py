"""The event files of `keras.callbacks.TensorBoard`: each step is in them once.

A resume cuts the files of the interrupted run where they were at the cut; one begun after it gets a
name that TensorBoard does not read. Writers are flushed at the cut: it is the end of a record.
"""

import os
import re
import socket
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pitstop import journal
from pitstop.events import AttemptStarted, TrainerConnected
from pitstop.keras.packages import kinds
from pitstop.machine.own_process import age_ns
from pitstop.record import Frozen

WRITERS = frozenset({"_writers", "_prev_summary_state"})
"""Attributes of a TensorBoard callback, the same in both packages: it makes them again itself."""

_NAME = re.compile(r".+\.tfevents\.(\d+)\.(.+)\.(\d+)\.\d+\.v2")
"""Of an event file: its time, host and process."""


def is_tensorboard(callback: Any) -> bool:
    return isinstance(callback, kinds("callbacks.TensorBoard"))


def _folders(callbacks: Iterable[Any]) -> list[str]:
    own = filter(is_tensorboard, callbacks)
    return [folder for each in own for folder in (each._train_dir, each._val_dir)]


def absolute_folders(callbacks: Iterable[Any]) -> list[Path]:
    """Where all of them write; what a state says of files holds for these alone."""
    return [Path(each).absolute() for each in _folders(callbacks)]


def log_folder(callbacks: Iterable[Any]) -> str:
    local = (each for each in _folders(callbacks) if "://" not in each)
    return next((str(Path(each).absolute().parent) for each in local), "")


class EventWriter(Frozen):
    """A process, and when it may have begun a file, in seconds since the epoch."""

    host: str
    pid: int
    from_seconds: float
    until_seconds: float = float("inf")

    def began(self, path: Path) -> bool:
        named = _NAME.fullmatch(path.name)
        if named is None or (named[2], int(named[3])) != (self.host, self.pid):
            return False
        return int(self.from_seconds) <= int(named[1]) <= self.until_seconds


def earlier_processes(journal_file: Path) -> list[EventWriter]:
    try:
        entries = journal.read(journal_file).entries
    except (OSError, ValueError):
        return []
    found: list[EventWriter] = []
    host, started = "", 0.0
    for entry in entries:
        if isinstance(entry.event, AttemptStarted):
            host, started = entry.event.host, entry.time_seconds
            found = [
                replace(each, until_seconds=min(each.until_seconds, started)) for each in found
            ]
        elif isinstance(entry.event, TrainerConnected):
            found.append(EventWriter(host, entry.event.pid, started))
    return found


class FileCut(Frozen):
    """What is to become of one file: it is cut at a size, or set aside where that is None."""

    path: Path
    size_bytes: int | None


class EventFiles:
    """The files that TensorBoard callbacks of one `fit` write, by those of earlier attempts too."""

    def __init__(self) -> None:
        self._earlier: set[str] = set()

    def capture(self, callbacks: list[Any]) -> dict[str, Any]:
        for callback in filter(is_tensorboard, callbacks):
            for writer in callback._writers.values():
                writer.flush()
        folders = [str(each) for each in absolute_folders(callbacks)]
        own = EventWriter(socket.gethostname(), os.getpid(), time.time() - age_ns() / 1e9)
        paths = [path for path in present(folders) if own.began(path)]
        paths += [Path(each) for each in self._earlier]
        sizes = {str(path): path.stat().st_size for path in paths if path.is_file()}
        return {"folders": folders, "time_seconds": time.time(), "sizes": sizes}

    def adopt(self, cuts: Iterable[FileCut]) -> None:
        self._earlier = {str(cut.path) for cut in cuts if cut.size_bytes is not None}


def plan(
    paths: Iterable[Path],
    saved: dict[str, Any],
    folders: Collection[Path],
    writers: Sequence[EventWriter],
) -> list[FileCut]:
    """What to do with files so that they are as they were at the cut; those of others stay."""

    def is_ours(path: Path) -> bool:
        return path.parent in folders and any(each.began(path) for each in writers)

    sizes = {Path(path): size_bytes for path, size_bytes in saved["sizes"].items()}
    begun = [path for path in paths if path not in sizes and is_ours(path)]
    times = {path: int(path.name.partition(".tfevents.")[2].partition(".")[0]) for path in begun}
    return [
        *(FileCut(path, max(0, size)) for path, size in sizes.items() if is_ours(path)),
        *(FileCut(path, None) for path in begun if times[path] >= int(saved["time_seconds"])),
    ]


def apply(cuts: Iterable[FileCut]) -> None:
    for cut in cuts:
        if cut.path.is_symlink() or not cut.path.is_file():
            continue
        if cut.size_bytes is None:
            cut.path.rename(
                cut.path.with_name(cut.path.name.replace(".tfevents.", ".interrupted."))
            )
        elif cut.path.stat().st_size > cut.size_bytes:
            os.truncate(cut.path, cut.size_bytes)


def present(folders: Iterable[str]) -> list[Path]:
    found = [path for folder in sorted(set(folders)) for path in sorted(Path(folder).glob("*"))]
    return [path for path in found if _NAME.fullmatch(path.name)]
