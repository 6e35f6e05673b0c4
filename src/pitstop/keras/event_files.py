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
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pitstop.keras import tensorboard
from pitstop.keras.event_writers import EventWriter, this_process

_EVENTS = re.compile(r".*\.tfevents\.(\d+)\..+")


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
        for callback in callbacks:
            tensorboard.flush(callback)
        folders = [str(each) for each in tensorboard.absolute_folders(callbacks)]
        own = this_process()
        paths = [path for path in _event_files(folders) if own.began(path)]
        paths += [Path(each) for each in self._earlier]
        sizes = {str(path): path.stat().st_size for path in paths if path.is_file()}
        return {"folders": folders, "time_seconds": time.time(), "sizes": sizes}

    def adopt(self, cuts: Iterable[FileCut]) -> None:
        """Counts the files of the interrupted run to this one."""
        self._earlier = {str(cut.path) for cut in cuts if cut.size_bytes is not None}


def present(saved: dict[str, Any]) -> list[Path]:
    """The event files that are there before this process writes any."""
    return _event_files(saved["folders"])


def plan(
    paths: Iterable[Path],
    saved: dict[str, Any],
    folders: Collection[Path],
    writers: Sequence[EventWriter],
) -> list[FileCut]:
    """What to do with files so that they are as they were at the cut.

    Files of others stay as they are, in whatever folder, and so does a file of which a state
    says something that this run cannot have written.

    Args:
        paths: what `present` gave.
        saved: what `EventFiles.capture` gave.
        folders: where the script's callbacks write.
        writers: the processes of this run.
    """

    def is_ours(path: Path) -> bool:
        return path.parent in folders and any(each.began(path) for each in writers)

    sizes = {Path(path): size_bytes for path, size_bytes in saved["sizes"].items()}
    begun = [path for path in paths if _created_seconds(path) >= int(saved["time_seconds"])]
    return [
        *(FileCut(path, max(0, size)) for path, size in sizes.items() if is_ours(path)),
        *(FileCut(path, None) for path in begun if path not in sizes and is_ours(path)),
    ]


def apply(cuts: Iterable[FileCut]) -> None:
    """Cuts the files, and sets those aside that were begun after the cut."""
    for cut in cuts:
        if cut.path.is_symlink() or not cut.path.is_file():
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
