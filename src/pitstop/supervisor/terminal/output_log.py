"""The log of the script's output: all of it while it is small, else both ends."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

from pitstop.masking import Masker

HEAD_BYTES = 1 << 20
TAIL_BYTES = 16 << 20
_COPY_BYTES = 1 << 20


class OutputLog:
    """Keeps the first 1 MiB and at least the last 16 MiB of what is appended.

    The file grows to twice the tail and is then cut to head and tail, so that an append costs one
    write.  What looks like a secret is masked.  A log that cannot be written is given up; the
    script's output itself is never held back for it.
    """

    def __init__(
        self, path: Path, *, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES
    ) -> None:
        self.path = path
        self.problem = ""
        self._head_bytes = head_bytes
        self._tail_bytes = tail_bytes
        self._lock = threading.Lock()
        self._masker = Masker()
        self._fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._size_bytes = os.fstat(self._fd).st_size

    def append(self, data: bytes) -> None:
        with self._lock:
            if self.problem:
                return
            try:
                self._append(self._masker.feed(data))
            except OSError as error:
                self.problem = error.strerror or str(error)

    def close(self) -> None:
        """Ends the log; later pieces are dropped."""
        with self._lock:
            if self._fd >= 0:
                with contextlib.suppress(OSError):
                    self._append(self._masker.rest())
                os.close(self._fd)
            self._fd = -1
            self.problem = self.problem or "closed"

    def _append(self, data: bytes) -> None:
        self._size_bytes += os.write(self._fd, data)
        if self._size_bytes > self._head_bytes + 2 * self._tail_bytes:
            self._cut()

    def _cut(self) -> None:
        draft = self.path.with_suffix(".cut")
        fd = os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o644)
        tail_start = self._size_bytes - self._tail_bytes
        _copy(self._fd, fd, 0, self._head_bytes)
        os.write(fd, f"\n[... {tail_start - self._head_bytes} bytes left out ...]\n".encode())
        _copy(self._fd, fd, tail_start, self._size_bytes)
        draft.rename(self.path)
        os.close(self._fd)
        self._fd = fd
        self._size_bytes = os.fstat(fd).st_size


def _copy(source: int, target: int, start: int, end: int) -> None:
    while start < end:
        piece = os.pread(source, min(_COPY_BYTES, end - start), start)
        if not piece:
            return
        os.write(target, piece)
        start += len(piece)
