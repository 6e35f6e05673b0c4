"""The members' output on ours: whole lines, each behind the name of who wrote it."""

from __future__ import annotations

import contextlib
import os
import re
import threading

from pitstop.supervisor.terminal.output import OutputPipes, our_channels
from pitstop.supervisor.terminal.own_words import PREFIX
from pitstop.supervisor.terminal.screen import write_all

_LONGEST_LINE_BYTES = 1 << 20
_OVERWRITES = re.compile(rb"\r(?=[^\r\n])")


def prefixed(prefix: bytes, line: bytes) -> bytes:
    """The line behind the prefix, which stays where a progress bar writes over its line."""
    return prefix + _OVERWRITES.sub(b"\r" + prefix, line.removesuffix(b"\n")) + b"\n"


class Terminal:
    """Our own output: no thread tears another one's line."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def write(self, fd: int, data: bytes) -> None:
        """Writes whole lines; nobody may be there to read them any more."""
        with self._lock, contextlib.suppress(OSError):
            write_all(fd, data)

    def say(self, line: str) -> None:
        self.write(2, f"{PREFIX}{line}\n".encode())


class MemberOutput(OutputPipes):
    """The pipes from one member to our output."""

    def __init__(self, prefix: str, terminal: Terminal) -> None:
        """Opens them; `OSError` where there are too many open files."""
        super().__init__()
        self._prefix = prefix.encode()
        self._terminal = terminal
        for channel in our_channels():
            source, sink = os.pipe()
            thread = threading.Thread(
                target=self._copy,
                args=(source, channel.targets[0]),
                name="pitstop-member",
                daemon=True,
            )
            self._add(channel, sink, thread)

    def _copy(self, source: int, target: int) -> None:
        with os.fdopen(source, "rb") as pipe:
            # A line that never ends comes in parts.
            while line := pipe.readline(_LONGEST_LINE_BYTES):
                self._terminal.write(target, prefixed(self._prefix, line))
