"""Our own words on the user's terminal, between the bytes of the script, and the status line.

The bottom row is taken out of the scrolling region (DECSTBM), as package managers do.  A thread
writes our words: a paused terminal (Ctrl-S) must not block the supervision.
"""

import codecs
import contextlib
import os
import queue
import re
import select
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext

from pitstop.durations import duration
from pitstop.plain_text import PREFIX, plain_line
from pitstop.supervisor.status import Status
from pitstop.supervisor.status_rows import place_text, rate_text, replay_text

FEWEST_ROWS = 10
LONGEST_SEQUENCE_BYTES = 64

_SAVE, _RESTORE = "\x1b7", "\x1b8"
_CLEAR_ROW = "\x1b[2K"
_INVERSE, _PLAIN = "\x1b[7m", "\x1b[0m"
# An escape sequence (CSI, OSC or a short one) that has not ended yet.
_OPEN_SEQUENCE = re.compile(rb"\x1b(\[[0-?]*[ -/]*|\][^\x07\x1b]*|[ -/]*)$")


def wanted(environment: Mapping[str, str], *, terminals: bool, rows: int) -> bool:
    return terminals and rows >= FEWEST_ROWS and environment.get("TERM", "dumb") != "dumb"


def window_size(fd: int) -> os.terminal_size | None:
    with contextlib.suppress(OSError):
        return os.get_terminal_size(fd)
    return None


def reserve(size: os.terminal_size) -> bytes:
    """Takes the bottom row out of the scrolling region; the cursor stays above it."""
    return f"\n{_SAVE}\x1b[1;{size.lines - 1}r{_RESTORE}\x1b[1A".encode()


def paint(size: os.terminal_size, text: str) -> bytes:
    row = text[: size.columns].ljust(size.columns)
    return f"{_SAVE}\x1b[{size.lines};1H{_INVERSE}{row}{_PLAIN}{_RESTORE}".encode()


def release(size: os.terminal_size) -> bytes:
    """Gives the bottom row back to the script and clears it."""
    return f"{_SAVE}\x1b[1;{size.lines}r\x1b[{size.lines};1H{_CLEAR_ROW}{_RESTORE}".encode()


def inside_sequence(tail: bytes) -> bool:
    """Whether output that ends so is in the middle of a sequence or a character."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(tail)
    return bool(_OPEN_SEQUENCE.search(tail)) or bool(decoder.getstate()[0])


def format_status(status: Status, columns: int) -> str:
    place = place_text(status, of="/")
    position = replay_text(status) or (f"step {place}" if place else "")
    silent = f"no progress for {duration(status.silent_seconds or 0.0)}"
    pace = silent if status.standstill else rate_text(status)
    level = status.level.replace("_", " ")
    parts = (f"pitstop: {status.state}", position, pace, _saved(status), level)
    return " | ".join(filter(None, parts))[:columns]


def _saved(status: Status) -> str:
    if status.checkpoint_step is None:
        return "nothing saved yet"
    age = status.checkpoint_age_seconds
    ago = "" if age is None else f" {duration(age)} ago"
    return f"saved step {status.checkpoint_step}{ago}"


_CLOSE_SECONDS = 2.0
_REFRESH_SECONDS = 1.0


class Screen:
    """Writes the script's output and our own lines to the terminal."""

    def __init__(self, *, status_row: bool, stdout: int = 1, stderr: int = 2) -> None:
        """`status_row`: the bottom row of the terminal is kept for the status line."""
        self._targets = {1: stdout, 2: stderr}
        self._is_seen_with_ours = {1: is_same(stdout, stderr), 2: True}
        self._terminal = threading.Lock()
        self._tail = b""
        self._status_row = status_row
        self._size: os.terminal_size | None = None
        self._next_seconds = 0.0
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="pitstop-screen", daemon=True)
        self._thread.start()
        self.resize()

    def script_size(self) -> os.terminal_size | None:
        size = window_size(self._targets[2])
        if size is None or not self._reserves(size):
            return size
        return os.terminal_size((size.columns, size.lines - 1))

    def write(self, target: int, data: bytes) -> None:
        """Passes the script's bytes on; blocks as our output does, `OSError` where it is closed."""
        fd = self._targets[target]
        with self._owned(fd):
            write_all(fd, data)
            if self._is_seen_with_ours[target]:
                self._tail = (self._tail + data)[-LONGEST_SEQUENCE_BYTES:]

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
            # A failure to write our own lines must not end the run.
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
            if size is not None and not inside_sequence(self._tail):
                text = format_status(status, size.columns)
                write_all(self._targets[2], paint(size, text))

    def _reserve(self) -> None:
        size = window_size(self._targets[2])
        with self._terminal:
            if size is None or not self._reserves(size):
                self._let_go()
            elif size != self._size:
                self._size = size
                write_all(self._targets[2], reserve(size))

    def _release(self) -> None:
        with self._terminal:
            self._let_go()

    def _let_go(self) -> None:
        if self._size is not None:
            write_all(self._targets[2], release(self._size))
            self._size = None

    def _reserves(self, size: os.terminal_size) -> bool:
        return self._status_row and size.lines >= FEWEST_ROWS

    def _owned(self, fd: int) -> AbstractContextManager[object]:
        return self._terminal if os.isatty(fd) else nullcontext()


def is_same(one: int, other: int) -> bool:
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
            # Another process has made our output non-blocking; we wait nevertheless.
            select.select([], [fd], [])
