"""The members' output on ours: whole lines, each behind the name of who wrote it."""

from __future__ import annotations

import contextlib
import os
import re
import threading

from pitstop.supervisor.terminal.output import OutputPipes, our_channels
from pitstop.supervisor.terminal.own_words import PREFIX
from pitstop.supervisor.terminal.screen import write_all

_READ_BYTES = 1 << 16
_LONGEST_LINE_BYTES = 1 << 20
_OVERWRITES = re.compile(rb"\r(?=[^\r\n])")


def prefixed(prefix: bytes, line: bytes) -> bytes:
    """The line behind the prefix, which stays where a progress bar writes over its line."""
    return prefix + _OVERWRITES.sub(b"\r" + prefix, line) + b"\n"


class Lines:
    """Cuts what is read into whole lines."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def cut(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes; one that never ends comes in parts."""
        self._rest += data
        *whole, rest = bytes(self._rest).split(b"\n") if b"\n" in data else [bytes(self._rest)]
        if len(rest) > _LONGEST_LINE_BYTES:
            whole, rest = [*whole, rest], b""
        self._rest = bytearray(rest)
        return whole

    def end(self) -> list[bytes]:
        rest, self._rest = bytes(self._rest), bytearray()
        return [rest] if rest else []


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
        lines = Lines()
        while data := os.read(source, _READ_BYTES):
            self._pass_on(target, lines.cut(data))
        self._pass_on(target, lines.end())
        os.close(source)

    def _pass_on(self, target: int, lines: list[bytes]) -> None:
        if lines:
            self._terminal.write(target, b"".join(prefixed(self._prefix, each) for each in lines))
