"""Files that an earlier attempt went on writing behind the state that a resume restores.

What a script keeps in a file is not in a checkpoint.  Where it opens such a file to read it, or to
go on at its end, it sees what steps have written that are computed once more.
"""

from __future__ import annotations

import os
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pitstop.engine.earlier_files import READ
from pitstop.engine.witness import is_own_file, is_user_file

_FRAMEWORKS = tuple(f"{os.sep}{name}{os.sep}" for name in ("keras", "tensorflow"))


class ChangedFiles:
    """Hears of files that the script opens while a restored training runs."""

    def __init__(self) -> None:
        self._doubt: Callable[[str], None] | None = None
        self._since_seconds = 0.0
        self._until_seconds = time.time()
        self._is_hooked = False

    def watch(self, since_seconds: float, doubt: Callable[[str], None]) -> None:
        """Hears of files that are opened, and tells the first one that was changed since then."""
        self._since_seconds, self._doubt = since_seconds, doubt
        if not self._is_hooked:
            self._is_hooked = True
            sys.addaudithook(self._hear)
        for path, changed_seconds in READ.databases.items():
            if since_seconds < changed_seconds < self._until_seconds:
                self._tell(path)

    def leave(self) -> None:
        self._doubt = None

    def note(self, path: str) -> None:
        """A file is read by other means than Python's own."""
        if self._doubt is not None and self._is_changed(path):
            self._tell(path)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._doubt is None or not arguments or not isinstance(arguments[0], str):
            return
        if event == "sqlite3.connect":
            self.note(arguments[0])
        if event != "open":
            return
        path, _, flags = arguments
        is_replaced = flags & os.O_TRUNC
        if not is_replaced and self._is_changed(path) and _is_opened_by_script(sys._getframe(1)):
            self._tell(path)

    def _tell(self, path: str) -> None:
        doubt, self._doubt = self._doubt, None
        if doubt is not None:
            doubt(
                f"the script goes on with {path}, which an earlier attempt wrote to behind the "
                "state that is restored"
            )

    def _is_changed(self, path: str) -> bool:
        try:
            changed_seconds = Path(path).stat().st_mtime
        except (OSError, ValueError):
            return False
        # What this process has written belongs to it.
        return self._since_seconds < changed_seconds < self._until_seconds


CHANGED = ChangedFiles()
"""Of this process."""


def _is_opened_by_script(frame: types.FrameType | None) -> bool:
    """Whether it is neither a framework nor Pitstop, which look after their own files."""
    while frame is not None:
        file = frame.f_code.co_filename
        if is_user_file(file):
            return True
        if is_own_file(file) or any(name in file for name in _FRAMEWORKS):
            return False
        frame = frame.f_back
    return False
