"""Small files that the script writes while it trains: a resume gives them the content of the cut.

A callback that reads its file, adds to it and writes it again would otherwise add the steps twice
that are computed again.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from pitstop.engine.files import file_access
from pitstop.engine.files.output_files import OUTPUTS

OF_DATABASES = ("-wal", "-shm", "-journal")  # of SQLite: beside a new database they would spoil it
_MOST_FILES = 16
_MOST_NAMED = 4096
_LARGEST_BYTES = 1 << 16


class RewrittenFiles:
    """The files written last; after a restore, those that the script has not opened yet."""

    def __init__(self) -> None:
        self.trains = False
        self._named: set[str] = set()  # that this process has written, also before it trains
        self._written: dict[str, None] = {}
        self._kept: dict[str, bytes] = {}

    @property
    def written(self) -> set[str]:
        """The last files that the training has written."""
        return set(self._written)

    def note(self, path: str) -> None:
        """The script is about to write to it."""
        path = os.path.abspath(path)  # noqa: PTH100
        self._kept.pop(path, None)
        if len(self._named) < _MOST_NAMED:
            self._named.add(path)
        if self.trains and not file_access.is_code(path):
            OUTPUTS.note(path)
            self._written.pop(path, None)
            self._written[path] = None
            if len(self._written) > _MOST_FILES:
                del self._written[next(iter(self._written))]

    def note_weights(self, path: str) -> None:
        """A library is about to write weights to it."""
        if self.trains:
            OUTPUTS.note(path)

    def capture(self) -> dict[str, bytes]:
        # What is still to be written to an open file is not known.
        opened = file_access.opened() if self._written else set()
        read = {path: file_access.read(path, _LARGEST_BYTES) for path in self._written}
        return self._kept | {
            path: content
            for path, (content, size_bytes) in read.items()
            if len(content) == size_bytes and path not in self._kept
            if os.path.realpath(path) not in opened and not any(_beside(path))
        }

    def keep(self, contents: Mapping[str, bytes]) -> set[str]:
        """Keeps contents until the script opens the files; returns those it has written by now.

        A path that is not below the working directory, or is code, is left alone.
        """
        self._kept = {
            path: content for path, content in contents.items() if file_access.is_of_project(path)
        }
        return self._named & self._kept.keys()

    def put_back(self, path: str) -> bool:
        """Restores the content of a file that the script opens or looks at; False if it did not."""
        path = os.path.abspath(path)  # noqa: PTH100
        content = self._kept.pop(path, None)
        if content is None or os.path.realpath(path) in file_access.opened():
            return False
        self._written[path] = None
        if file_access.read(path, len(content) + 1)[0] != content:
            try:
                Path(path).touch()
                for each in _beside(path):
                    each.unlink()
                file_access.replace_end(path, 0, content)
            except OSError:
                return False
        return True

    def leave(self) -> None:
        self.trains, self._kept = False, {}


REWRITTEN = RewrittenFiles()  # of this process


def _beside(path: str) -> Iterator[Path]:
    return filter(Path.exists, (Path(path + end) for end in OF_DATABASES))
