"""Paths that the script removes, or creates anew: a step that is computed again does so again."""

import contextlib
import json
import os
import time
from pathlib import Path

_MOST_PATHS = 4096


class PathRecord:
    """Paths, and when they were noted, in a file in the folder of each attempt."""

    def __init__(self, file_name: str) -> None:
        self.file_name = file_name
        self._file: Path | None = None
        self._earlier: dict[str, float] = {}
        self._count = 0

    def watch(self, attempt_dir: Path | None) -> None:
        """Notes paths from now on, and knows those of earlier attempts."""
        if attempt_dir is None:
            return
        self._file = attempt_dir / self.file_name
        for file in attempt_dir.parent.glob(f"*/{self.file_name}"):
            with contextlib.suppress(OSError, ValueError, TypeError):
                self._earlier.update(map(json.loads, file.read_text().splitlines()))

    def note(self, path: str) -> None:
        self._count += 1
        if self._file is not None and self._count <= _MOST_PATHS:
            with contextlib.suppress(OSError), self._file.open("a") as file:
                file.write(json.dumps([path, time.time()]) + "\n")

    def repeats(self, path: str, since_seconds: float) -> bool:
        """Whether an earlier attempt has noted a path since then; once for each path."""
        is_repeated = self._earlier.get(path, 0.0) > since_seconds
        if is_repeated:
            del self._earlier[path]
        return is_repeated


REMOVED = PathRecord("removed.jsonl")  # files and folders
CREATED = PathRecord("created.jsonl")  # links, and files of mode x: they must not have been there


def watch(attempt_dir: Path | None) -> None:
    for each in (REMOVED, CREATED):
        each.watch(attempt_dir)


def creates(path: str, since_seconds: float) -> None:
    """Removes a path that an earlier attempt created, if a step is about to create it again."""
    path = os.path.abspath(path)  # noqa: PTH100
    if CREATED.repeats(path, since_seconds):
        with contextlib.suppress(OSError):
            os.remove(path)  # noqa: PTH107
    if not os.path.lexists(path):
        CREATED.note(path)


def removes(path: str, since_seconds: float, *, is_folder: bool) -> None:
    """Makes a path that an earlier attempt removed, if a step is about to remove it again."""
    path = os.path.abspath(path)  # noqa: PTH100
    if not os.path.lexists(path) and REMOVED.repeats(path, since_seconds):
        with contextlib.suppress(OSError):
            Path(path).mkdir() if is_folder else Path(path).touch()
    if os.path.lexists(path):
        REMOVED.note(path)
