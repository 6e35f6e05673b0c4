"""Our own words on the user's terminal, between the bytes of the script.

They are written by a thread: a terminal that is held (Ctrl-S) must not hold the supervision.
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from pitstop.plain_text import PREFIX, plain_line
from pitstop.supervisor.status import Status
from pitstop.supervisor.terminal import status_line
from pitstop.supervisor.terminal.status_line import Size

_CLOSE_SECONDS = 2.0
_REFRESH_SECONDS = 1.0


class Screen:
    """Where the script's output and our own words meet."""

    def __init__(self, *, status_row: bool, stdout: int = 1, stderr: int = 2) -> None:
        """`status_row`: the bottom row of the terminal is kept for the status line."""
        self._targets = {1: stdout, 2: stderr}
        self._is_seen_with_ours = {1: _is_same(stdout, stderr), 2: True}
        self._terminal = threading.Lock()
        self._tail = b""
        self._status_row = status_row
        self._size: Size | None = None
        self._next_seconds = 0.0
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="pitstop-screen", daemon=True)
        self._thread.start()
        self.resize()

    def script_size(self) -> Size | None:
        size = status_line.window_size(self._targets[2])
        if size is None or not self._reserves(size):
            return size
        return Size(size.rows - 1, size.columns)

    def write(self, target: int, data: bytes) -> None:
        """Passes the script's bytes on; blocks as our output does, `OSError` where it is closed."""
        fd = self._targets[target]
        with self._owned(fd):
            write_all(fd, data)
            if self._is_seen_with_ours[target]:
                self._tail = (self._tail + data)[-status_line.LONGEST_SEQUENCE_BYTES :]

    def say(self, line: str) -> None:
        self._jobs.put(lambda: self._say(line))

    def due(self, now_seconds: float) -> bool:
        return self._status_row and now_seconds >= self._next_seconds

    def show(self, status: Status) -> None:
        self._next_seconds = time.monotonic() + _REFRESH_SECONDS
        self._jobs.put(lambda: self._paint(status))

    def resize(self) -> None:
        if self._status_row:
            self._jobs.put(self._reserve)

    def suspend(self) -> None:
        """Gives the bottom row back until the next `resize`; returns when it is done."""
        done = threading.Event()
        self._jobs.put(self._release)
        self._jobs.put(done.set)
        done.wait(_CLOSE_SECONDS)

    def close(self) -> None:
        self._jobs.put(self._release)
        self._jobs.put(None)
        self._thread.join(_CLOSE_SECONDS)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            # Our own words are not worth failing for.
            with contextlib.suppress(OSError):
                job()

    def _say(self, line: str) -> None:
        fd = self._targets[2]
        with self._owned(fd):
            start = "" if self._tail.endswith(b"\n") or not self._tail else "\n"
            write_all(fd, f"{start}{PREFIX}{plain_line(line)}\n".encode())
            self._tail = b"\n"

    def _paint(self, status: Status) -> None:
        with self._terminal:
            size = self._size
            if size is not None and not status_line.inside_sequence(self._tail):
                text = status_line.format_status(status, size.columns)
                write_all(self._targets[2], status_line.paint(size, text))

    def _reserve(self) -> None:
        size = status_line.window_size(self._targets[2])
        with self._terminal:
            if size is None or not self._reserves(size):
                self._let_go()
            elif size != self._size:
                self._size = size
                write_all(self._targets[2], status_line.reserve(size))

    def _release(self) -> None:
        with self._terminal:
            self._let_go()

    def _let_go(self) -> None:
        if self._size is not None:
            write_all(self._targets[2], status_line.release(self._size))
            self._size = None

    def _reserves(self, size: Size) -> bool:
        return self._status_row and size.rows >= status_line.FEWEST_ROWS

    def _owned(self, fd: int) -> AbstractContextManager[object]:
        return self._terminal if os.isatty(fd) else nullcontext()


def _is_same(one: int, other: int) -> bool:
    with contextlib.suppress(OSError):
        return os.path.sameopenfile(one, other)
    return False


def write_all(fd: int, data: bytes) -> None:
    """Writes all of it; blocks as long as the reader does, `OSError` where it is closed."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            # Whoever shares our output has made it so; it is to wait all the same.
            select.select([], [fd], [])
