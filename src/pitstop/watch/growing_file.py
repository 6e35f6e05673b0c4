"""A file that another process appends to, read as it grows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pitstop.machine.regular_file import open_regular

_BLOCK_BYTES = 1 << 20


class GrowingFile:
    """Gives what is new since it was asked last; begins anew where the file is another one.

    A file that is missing, cannot be read, or is no regular file has nothing new.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._inode = 0
        self._rest = b""

    def blocks(self) -> Iterator[bytes]:
        """What is new, in pieces that fit memory."""
        try:
            file = open_regular(self._path, buffering=0)
        except OSError:
            return
        with file:
            state = os.fstat(file.fileno())
            if state.st_ino != self._inode or state.st_size < self._offset:
                self._offset, self._inode, self._rest = 0, state.st_ino, b""
            file.seek(self._offset)
            while self._offset < state.st_size:
                data = file.read(min(_BLOCK_BYTES, state.st_size - self._offset))
                if not data:
                    return
                self._offset += len(data)
                yield data

    def lines(self) -> list[bytes]:
        """The new whole lines, each with its end; what is not ended yet comes with its end."""
        text = b"".join(self.blocks())
        whole, end, rest = (self._rest + text).rpartition(b"\n")
        self._rest = rest
        return (whole + end).splitlines(keepends=True)
