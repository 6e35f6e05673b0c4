"""The event files of `keras.callbacks.TensorBoard` and of `tf.summary`: each step is in them once.

A resume cuts the files of the interrupted run where they were at the cut; one begun after it gets a
name that TensorBoard does not read. Writers are flushed at the cut: it is the end of a record.
"""

import os
import re
import socket
import time
import weakref
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.python.ops import summary_ops_v2

from pitstop import journal
from pitstop.engine.fence import fenced, observing
from pitstop.engine.hooking import Original, hook
from pitstop.events import AttemptStarted, TrainerConnected
from pitstop.machine.own_process import age_ns
from pitstop.record import Frozen

_NAME = re.compile(r".+\.tfevents\.(\d+)\.(.+)\.(\d+)\.\d+\.v2")
"""Of an event file: its time, host and process."""

NEEDED = ((summary_ops_v2, "_ResourceSummaryWriter"),)
"""Private names of TensorFlow."""


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


def this_process() -> EventWriter:
    return EventWriter(socket.gethostname(), os.getpid(), time.time() - age_ns() / 1e9)


def earlier_processes(journal_file: Path) -> list[EventWriter]:
    try:
        entries = journal.read(journal_file).entries
    except (OSError, ValueError):
        return []
    found: list[EventWriter] = []
    host, started = "", 0.0
    for entry in entries:
        if isinstance(entry.event, AttemptStarted):
            host = entry.event.host
            started = entry.event.started_seconds or entry.time_seconds
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


class SummaryWriters:
    """Those of `tf.summary` that this process has created."""

    def __init__(self) -> None:
        self._writers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._folders: dict[Path, None] = {}

    def watch(self) -> None:
        # `import tensorflow.summary` makes the module again: its functions cannot be replaced.
        hook(summary_ops_v2._ResourceSummaryWriter, "__init__", self._create)

    def _create(
        self, original: Original, writer: Any, /, create_fn: Any, init_op_fn: Any, **kwargs: Any
    ) -> None:
        original(writer, create_fn, init_op_fn, **kwargs)
        with fenced():
            folder = os.fsdecode(tf.get_static_value(init_op_fn.keywords["logdir"]))
            if "://" not in folder:
                self._writers.add(writer)
                self._folders[Path(folder).absolute()] = None

    @property
    def folders(self) -> list[Path]:
        """Where they write, and where others may write too."""
        return [*self._folders]

    @observing()
    def flush(self) -> None:
        for each in tuple(self._writers):
            each.flush()

    @observing()
    def set_earlier_aside(self, journal_file: Path) -> None:
        """This process writes again what earlier attempts of the run wrote to the same folders."""
        if self._folders:
            earlier = of_others(map(str, self._folders))
            cut(earlier, {"sizes": {}, "time_seconds": 0.0}, self.folders, journal_file)


SUMMARY_WRITERS = SummaryWriters()  # of this process


class EventFiles:
    """The files that one `fit` writes, by those of earlier attempts too."""

    def __init__(self) -> None:
        self._earlier: set[str] = set()

    def capture(self, of_callbacks: Iterable[Path]) -> dict[str, Any]:
        """`of_callbacks`: folders to which TensorBoard callbacks write."""
        SUMMARY_WRITERS.flush()
        folders = [*map(str, dict.fromkeys((*of_callbacks, *SUMMARY_WRITERS.folders)))]
        own = this_process()
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


def cut(
    paths: Iterable[Path], saved: dict[str, Any], folders: Collection[Path], journal_file: Path
) -> list[FileCut]:
    """Makes files what they were at the cut; returns what it did."""
    writers = earlier_processes(journal_file) if folders else []
    cuts = plan(paths, saved, folders, writers)
    apply(cuts)
    return cuts


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


def of_others(folders: Iterable[str]) -> list[Path]:
    """Those that other processes have begun."""
    own = this_process()
    return [path for path in present(folders) if not own.began(path)]
