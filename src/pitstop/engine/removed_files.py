"""Files and folders that the script removes: a step that is computed again removes them again."""

import contextlib
import json
import os
import time
from pathlib import Path

REMOVED_FILE = "removed.jsonl"
"""Its name in the folder of an attempt: a path, and when it was removed, in each line."""
_MOST_FILES = 4096


class RemovedFiles:
    """Is told of each before it is removed."""

    def __init__(self) -> None:
        self._record: Path | None = None
        self._earlier: dict[str, float] = {}
        self._count = 0

    def watch(self, attempt_dir: Path | None) -> None:
        """Keeps a record from now on, and reads those of earlier attempts."""
        if attempt_dir is None:
            return
        self._record = attempt_dir / REMOVED_FILE
        for file in attempt_dir.parent.glob(f"*/{REMOVED_FILE}"):
            with contextlib.suppress(OSError, ValueError, TypeError):
                self._earlier.update(map(json.loads, file.read_text().splitlines()))

    def removes(self, path: str, since_seconds: float, *, is_folder: bool) -> None:
        """One that an earlier attempt has removed since then is made, to be removed again."""
        if os.path.lexists(path):
            self._note(path)
        elif self._earlier.get(path, 0.0) > since_seconds:
            del self._earlier[path]
            with contextlib.suppress(OSError):
                Path(path).mkdir() if is_folder else Path(path).touch()
                self._note(path)

    def _note(self, path: str) -> None:
        self._count += 1
        if self._record is not None and self._count <= _MOST_FILES:
            with contextlib.suppress(OSError), self._record.open("a") as file:
                file.write(json.dumps([path, time.time()]) + "\n")


REMOVED = RemovedFiles()  # of this process
