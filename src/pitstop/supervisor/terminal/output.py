"""Copies the script's output to ours and to a log; a slow reader never blocks the supervision."""

import contextlib
import fcntl
import os
import pty
import stat
import struct
import termios
import threading
from abc import ABC, abstractmethod
from pathlib import Path

from pitstop.masking import Masker
from pitstop.record import Frozen
from pitstop.supervisor.processes.process import StandardStreams
from pitstop.supervisor.terminal.screen import Screen, is_same

HEAD_BYTES = 1 << 20
TAIL_BYTES = 16 << 20
_COPY_BYTES = 1 << 20
_READ_BYTES = 1 << 16
_CLOSE_SECONDS = 5.0


class OutputLog:
    """Keeps the first 1 MiB and at least the last 16 MiB of what is appended, with secrets masked.

    The file grows to twice the tail and is then cut, so that an append costs one write.  A log that
    cannot be written is given up; the script's output itself is never held back for it.
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


class Channel(Frozen):
    """Connects descriptor 1, 2 or both of the script with ours: a pty (`terminal`) or a pipe."""

    targets: tuple[int, ...]
    terminal: bool


def plan_channels(*, stdout_tty: bool, stderr_tty: bool, same_file: bool) -> tuple[Channel, ...]:
    """A channel for each output, a pty for a terminal; one for both where they are one place."""
    if (stdout_tty and stderr_tty) or same_file:
        return (Channel((1, 2), stdout_tty),)
    return (Channel((1,), stdout_tty), Channel((2,), stderr_tty))


def our_channels() -> tuple[Channel, ...]:
    same_file = is_same(1, 2) and not stat.S_ISCHR(os.fstat(1).st_mode)
    return plan_channels(stdout_tty=os.isatty(1), stderr_tty=os.isatty(2), same_file=same_file)


ChannelEnds = tuple[Channel, int, int]
"""A channel, where we read from it, and what a process writes into."""


def open_channels() -> tuple[ChannelEnds, ...]:
    """The channels of the output of one process; `OSError` for too many open files."""
    return tuple((channel, *_open_channel(channel)) for channel in our_channels())


def _open_channel(channel: Channel) -> tuple[int, int]:
    if not channel.terminal:
        return os.pipe()
    source, sink = pty.openpty()
    # The real terminal does the output processing; doing it twice would alter line ends.
    settings = termios.tcgetattr(sink)
    settings[1] &= ~termios.OPOST
    termios.tcsetattr(sink, termios.TCSANOW, settings)
    return source, sink


class OutputPipes(ABC):
    """What a process writes into, and the threads that copy it from there."""

    def __init__(self) -> None:
        self._ends: dict[int, int] = {}
        self._threads: list[threading.Thread] = []

    @property
    def streams(self) -> StandardStreams:
        return StandardStreams(self._ends[1], self._ends[2])

    def started(self) -> None:
        """Closes the ends that the process has inherited, to see its end; begins to copy."""
        for fd in set(self._ends.values()):
            os.close(fd)
        for thread in self._threads:
            thread.start()

    def drain(self) -> None:
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(_CLOSE_SECONDS)

    def _add(self, channel: Channel, source: int, sink: int, name: str) -> None:
        words = (source, channel.targets[0])
        self._ends.update(dict.fromkeys(channel.targets, sink))
        self._threads.append(
            threading.Thread(target=self._copy, args=words, name=name, daemon=True)
        )

    @abstractmethod
    def _copy(self, source: int, target: int) -> None: ...


class Tee(OutputPipes):
    """Copies the script's output while it lives."""

    def __init__(self, ends: tuple[ChannelEnds, ...], log: OutputLog, screen: Screen) -> None:
        super().__init__()
        self._log = log
        self._screen = screen
        self._terminals = [source for channel, source, _ in ends if channel.terminal]
        for channel, source, sink in ends:
            self._add(channel, source, sink, f"pitstop-output-{channel.targets[0]}")

    def resize(self, size: os.terminal_size | None) -> None:
        if size is None:
            return
        window = struct.pack("HHHH", size.lines, size.columns, 0, 0)
        for terminal in self._terminals:
            with contextlib.suppress(OSError):
                fcntl.ioctl(terminal, termios.TIOCSWINSZ, window)

    def close(self) -> None:
        self.drain()
        self._log.close()

    def _copy(self, source: int, target: int) -> None:
        heard = True
        # A pty reports its end as EIO.
        with contextlib.suppress(OSError):
            while data := os.read(source, _READ_BYTES):
                self._log.append(data)
                heard = heard and self._pass_on(target, data)
        os.close(source)

    def _pass_on(self, target: int, data: bytes) -> bool:
        """Whether the output has a reader: a `tee` that Ctrl-C ends must not cost this step."""
        try:
            self._screen.write(target, data)
        except OSError:
            return False
        return True
