"""Files of an earlier attempt, written while it trained, that a script reads before it trains.

A script that does so has a resume of its own: it restores weights, goes on from a step that it
wrote down, or leaves out what it has results of.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

_MOST_FILES = 4096
_CODE = (".py", ".pyc", ".so", ".pth")
_WEIGHTS = (".index", ".keras", ".h5", ".hdf5", ".safetensors")
_ELSEWHERE = tuple({sys.prefix, sys.base_prefix, "/proc", "/sys", "/dev"})


class ReadBack(NamedTuple):
    """What the script has read back, as paths: weights, and any other file; empty for nothing."""

    weights: str = ""
    other: str = ""


class ReadFiles:
    """Files that the script opens before it trains, and when they were changed last.

    Attributes:
        databases: the same of those of SQLite, which stay open.
    """

    def __init__(self) -> None:
        self.databases: dict[str, float] = {}
        self._changed: dict[str, float] = {}
        self._listening = False
        self._started_seconds = 0.0

    def watch(self) -> None:
        self._listening = True
        self._started_seconds = time.time()
        sys.addaudithook(self._hear)

    def note(self, path: str) -> None:
        if not self._listening or len(self._changed) >= _MOST_FILES or _is_code(path):
            return
        changed_seconds = _changed_seconds(path)
        # What this process wrote itself, it may read.
        if 0 < changed_seconds < self._started_seconds:
            self._changed[str(Path(path).absolute())] = changed_seconds

    def read_back(self, attempt_dir: Path, began_seconds: float) -> ReadBack:
        """What of it was written since an earlier attempt began to train; hears no more."""
        self._listening = False
        run_dir = str(attempt_dir.parent.parent.absolute()) + os.sep
        found = [
            path
            for path, changed_seconds in self._changed.items()
            if changed_seconds >= began_seconds and not path.startswith(run_dir)
        ]
        weights = [path for path in found if path.endswith(_WEIGHTS)]
        return ReadBack(next(iter(weights), ""), next(iter(found), ""))

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._listening:
            return
        if event == "open" and isinstance(arguments[0], str):
            flags = arguments[2]
            if not flags & (os.O_WRONLY | os.O_APPEND | os.O_TRUNC):
                self.note(arguments[0])
        elif event == "sqlite3.connect" and isinstance(arguments[0], str):
            path = arguments[0]
            times = (_changed_seconds(each) for each in (path, f"{path}-wal"))
            self.databases.setdefault(path, max(times))
            self.note(path)


READ = ReadFiles()
"""Of this process."""


def _changed_seconds(path: str) -> float:
    """When it was changed last; 0 for what is not there."""
    try:
        return Path(path).stat().st_mtime
    except (OSError, ValueError):
        return 0.0


def _is_code(path: str) -> bool:
    hidden = any(part.startswith(".") for part in Path(path).parent.parts if part.strip("."))
    return hidden or path.endswith(_CODE) or path.startswith(_ELSEWHERE)
