"""The event files of `keras.callbacks.TensorBoard`: each step is in them once.

Every process writes a file of its own, and its steps since the cut are done
again by the next.  So a resume cuts the files of the interrupted run where they
were at the cut; one that was begun after it gets a name that TensorBoard does
not read.  A file's end at the cut is the end of a record, since the writers are
flushed then.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pitstop.keras import private

_EVENTS = re.compile(r".*\.tfevents\.(\d+)\..+")

NONE: dict[str, Any] = {"folders": [], "time_seconds": 0.0, "sizes": {}}
"""What `EventFiles.capture` gives where there is nothing."""


@dataclass(frozen=True)
class FileCut:
    """What is to become of one file.

    Attributes:
        size_bytes: where to cut it; None to set it aside.
    """

    path: Path
    size_bytes: int | None


class EventFiles:
    """The files that TensorBoard callbacks of one `fit` write, by those of earlier attempts too."""

    def __init__(self) -> None:
        self._earlier: set[str] = set()

    def capture(self, callbacks: list[Any]) -> dict[str, Any]:
        """Sizes of the run's files by path, the folders, and the time, in seconds."""
        folders: list[str] = []
        for callback in callbacks:
            private.flush_tensorboard(callback)
            folders += [
                str(Path(each).absolute()) for each in private.tensorboard_folders(callback)
            ]
        own = f".{os.getpid()}."
        paths = [path for path in _event_files(folders) if own in path.name]
        paths += [Path(each) for each in self._earlier]
        sizes = {str(path): path.stat().st_size for path in paths if path.is_file()}
        return {"folders": folders, "time_seconds": time.time(), "sizes": sizes}

    def adopt(self, saved: dict[str, Any]) -> None:
        """Counts the files of the interrupted run to this one."""
        self._earlier = set(saved["sizes"])


def present(saved: dict[str, Any]) -> list[Path]:
    """The event files that are there before this process writes any."""
    return _event_files(saved["folders"])


def plan(paths: Iterable[Path], saved: dict[str, Any]) -> list[FileCut]:
    """What to do with files so that they are as they were at the cut.

    A file of whose name and time nothing is known stays as it is.
    """
    sizes = saved["sizes"]
    begun = [path for path in paths if _created_seconds(path) >= int(saved["time_seconds"])]
    return [
        *(FileCut(Path(path), size_bytes) for path, size_bytes in sizes.items()),
        *(FileCut(path, None) for path in begun if str(path) not in sizes),
    ]


def apply(cuts: Iterable[FileCut]) -> None:
    """Cuts the files, and sets those aside that were begun after the cut."""
    for cut in cuts:
        if not cut.path.is_file():
            continue
        if cut.size_bytes is None:
            cut.path.rename(
                cut.path.with_name(cut.path.name.replace(".tfevents.", ".interrupted."))
            )
        elif cut.path.stat().st_size > cut.size_bytes:
            os.truncate(cut.path, cut.size_bytes)


def _event_files(folders: Iterable[str]) -> list[Path]:
    found = [path for folder in sorted(set(folders)) for path in sorted(Path(folder).glob("*"))]
    return [path for path in found if _EVENTS.fullmatch(path.name)]


def _created_seconds(path: Path) -> int:
    named = _EVENTS.fullmatch(path.name)
    return int(named[1]) if named else 0
