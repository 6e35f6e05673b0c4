"""Files that an earlier attempt wrote while it trained, and that a script opens when it runs again.

One that reads such files before it trains has a resume of its own: it restores weights, goes on
from a step that it wrote down, or leaves out what it has results of.  One that reads them, goes on
at their end, or looks whether they are there, in a restored training sees what steps have written
that are computed once more.
"""

from __future__ import annotations

import os
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pitstop.engine.audit_events import subscribe
from pitstop.engine.file_looks import FileLooks

_MOST_FILES = 4096
_CODE = (".py", ".pyc", ".so", ".pth")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_APPEND
_WEIGHTS = (".index", ".keras", ".h5", ".hdf5", ".safetensors")
_ELSEWHERE = tuple({sys.prefix, sys.base_prefix, "/proc", "/sys", "/dev"})
_FRAMEWORKS = tuple(f"{os.sep}{name}{os.sep}" for name in ("keras", "tensorflow"))


class ReadBack(NamedTuple):
    """What the script has read back, as paths: weights, and any other file; empty for nothing."""

    weights: str = ""
    other: str = ""


class EarlierFiles:
    """Is told of files that are opened: before a training, and in one that is restored.

    `looks`: what the script only looks at, in a training that is restored.
    """

    def __init__(self) -> None:
        self.looks = FileLooks(self._looked_at)
        self._started_seconds = time.time()
        self._is_hooked = self._listening = False
        self._read: dict[str, float] = {}
        self._databases: dict[str, float] = {}
        self._continued: dict[str, float] = {}
        self._since_seconds = 0.0
        self._doubt: Callable[[str], None] | None = None

    def _hook(self) -> None:
        if not self._is_hooked:
            self._is_hooked = True
            subscribe(("open", "sqlite3.connect"), self._on_event)

    def _on_event(
        self, event: str, arguments: tuple[Any, ...], frame: types.FrameType | None
    ) -> None:
        path, flags = arguments[0], arguments[2] if event == "open" else 0
        if not isinstance(path, str | bytes) or flags & os.O_TRUNC:
            return
        path = os.fsdecode(path)
        if flags & _WRITING:
            self._note_written(path)
        if not (self._listening or self._doubt):
            return
        if event == "sqlite3.connect":
            self._note_database(path)
            return
        if not flags & (os.O_WRONLY | os.O_APPEND):
            self._note_read(path)
        if self._is_changed(_changed_seconds(path), path) and _is_opened_by_script(frame):
            self._tell(path)

    def note(self, path: str, *, is_only_read: bool = True) -> None:
        """A file is read by other means than Python's own."""
        if is_only_read:
            self._note_read(path)
        if self._is_changed(_changed_seconds(path), path):
            self._tell(path)

    # -- before a training -----------------------------------------------------------------

    def listen(self) -> None:
        """Remembers what is read, and when it was changed last, until `read_back`."""
        self._started_seconds = time.time()
        self._listening = True
        self._hook()

    def _note_read(self, path: str) -> None:
        if not self._listening or len(self._read) >= _MOST_FILES or _is_code(path):
            return
        changed_seconds = _changed_seconds(path)
        # What this process wrote itself, it may read.
        if 0 < changed_seconds < self._started_seconds:
            self._read[str(Path(path).absolute())] = changed_seconds

    def _note_written(self, path: str) -> None:
        """A file is written on: what it holds is not of this process alone."""
        changed_seconds = _changed_seconds(path)
        if changed_seconds and len(self._continued) < _MOST_FILES and not _is_code(path):
            self._continued.setdefault(os.path.abspath(path), changed_seconds)  # noqa: PTH100

    def _note_database(self, path: str) -> None:
        """One of SQLite, which stays open."""
        if self._listening:
            times = (_changed_seconds(each) for each in (path, f"{path}-wal"))
            self._databases.setdefault(path, max(times))
        self.note(path)

    def read_back(self, attempt_dir: Path, began_seconds: float) -> ReadBack:
        """What of it was written since an earlier attempt began to train; listens no more."""
        self._listening = False
        run_dir = str(attempt_dir.parent.parent.absolute()) + os.sep
        found = [
            path
            for path, changed_seconds in self._read.items()
            if changed_seconds >= began_seconds and not path.startswith(run_dir)
        ]
        weights = [path for path in found if path.endswith(_WEIGHTS)]
        return ReadBack(next(iter(weights), ""), next(iter(found), ""))

    # -- in a restored training --------------------------------------------------------------

    def watch(self, since_seconds: float, doubt: Callable[[str], None]) -> None:
        """Tells the first file that is opened and was changed since then."""
        self._since_seconds, self._doubt = since_seconds, doubt
        self._hook()
        self.looks.begin()
        for path, changed_seconds in self._databases.items():
            if self._is_changed(changed_seconds):
                self._tell(path)

    def leave(self) -> None:
        self._doubt = None
        self.looks.end()

    def _looked_at(self, path: str, changed_seconds: float) -> None:
        if self._is_changed(changed_seconds, path):
            self._tell(path)

    def _is_changed(self, changed_seconds: float, path: str = "") -> bool:
        # What this process has written belongs to it, but not what it has written on.
        if path and self._continued:
            before = self._continued.get(os.path.abspath(path), changed_seconds)  # noqa: PTH100
            changed_seconds = min(before, changed_seconds)
        return (
            self._doubt is not None
            and self._since_seconds < changed_seconds < self._started_seconds
        )

    def _tell(self, path: str) -> None:
        doubt = self._doubt
        self.leave()
        if doubt is not None:
            doubt(
                f"the script goes on with {Path(path).absolute()}, which an earlier attempt wrote "
                "to behind the state that is restored"
            )


EARLIER = EarlierFiles()
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


def _is_opened_by_script(frame: types.FrameType | None) -> bool:
    """Whether it is no import, no framework and not Pitstop: these see to their own files."""
    if frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        return False
    # Loaded where a training runs; this module is by each Python process of a run.
    from pitstop.engine.witness import is_own_file, is_user_file  # noqa: PLC0415

    while frame is not None:
        file = frame.f_code.co_filename
        if is_user_file(file):
            return True
        if is_own_file(file) or any(name in file for name in _FRAMEWORKS):
            return False
        frame = frame.f_back
    return False
