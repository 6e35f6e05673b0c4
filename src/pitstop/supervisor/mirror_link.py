"""The supervisor's end of the uploader: started, told, heard, and ended."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pitstop.errors import EnvironmentFault, PeerClosed, UserError
from pitstop.link.settings import own_environment
from pitstop.link.wire import Connection, Message, pair
from pitstop.supervisor import process
from pitstop.supervisor.process import Streams

_MODULE = "pitstop.remote.uploader"
_MOST_STARTS = 4
_EXIT_SECONDS = 6.0
_WORDS_BYTES = 4096


@dataclass(frozen=True)
class MirrorPlan:
    """What an uploader is started for.

    Attributes:
        url: where the mirror is.
        run_dir: the local folder.
        new: the user wants to begin anew.
    """

    url: str
    run_dir: Path
    new: bool = False


class MirrorLink:
    """One uploader at a time, replaced when it dies.

    Attributes:
        url: where the mirror is.
        connection: to the present uploader, None when it is gone.
        pid: of the present or last one, 0 before there was one.
        finished: it said that it is done.
    """

    def __init__(self, plan: MirrorPlan) -> None:
        self._plan = plan
        self._holder = uuid.uuid4().hex
        self._starts = 0
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self.url = plan.url
        self.connection: Connection | None = None
        self.pid = 0
        self.finished = False

    def open(self, say: Callable[[str], None]) -> None:
        """Starts the uploader and waits until the local folder is ready to be used.

        Args:
            say: tells the user what it waits for and fetches.

        Raises:
            UserError: the mirror is in use, or of another run.
            EnvironmentFault: it cannot be read, or the uploader died.
        """
        connection = self._start(*(["--new"] if self._plan.new else []))
        try:
            while (message := connection.receive()).type == "say":
                say(str(message.body["line"]))
        except PeerClosed as error:
            raise EnvironmentFault(
                f"The process that reads {self.url} ended: {self.last_words()}."
            ) from error
        if message.type == "refused":
            body = message.body
            kind = UserError if body["by_user"] else EnvironmentFault
            raise kind(str(body["message"]), str(body["remedy"]))

    def restart(self) -> Connection:
        """Starts another one in place of one that died.

        Raises:
            OSError: the kernel refuses another process.
        """
        return self._start("--again")

    @property
    def may_restart(self) -> bool:
        """Whether another one should be tried after a death."""
        return self._starts < _MOST_STARTS

    def begin(self) -> None:
        """The local folder is ours: send what is in it."""
        self._send("begin", {})

    def changed(self) -> None:
        """There is a new checkpoint."""
        self._send("changed", {})

    def finish(self) -> None:
        """Send what is left, and end."""
        self._send("finish", {})

    def abandon(self, reason: str) -> None:
        """Say what is left, and end."""
        self._send("abandon", {"reason": reason})

    def receive(self) -> list[Message]:
        """What it said.

        Raises:
            PeerClosed: it has ended.
        """
        if self.connection is None:
            return []
        messages = self.connection.receive_ready()
        self.finished |= any(message.type == "finished" for message in messages)
        return messages

    def last_words(self) -> str:
        """The last line that it wrote to its standard error."""
        size_bytes = os.fstat(self._words.fileno()).st_size
        tail = os.pread(self._words.fileno(), _WORDS_BYTES, max(0, size_bytes - _WORDS_BYTES))
        lines = tail.decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")

    def lost(self) -> None:
        """The connection has ended."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def close(self) -> None:
        """Ends it; what has not been sent is sent by the next attempt."""
        self._send("abandon", {"reason": "the run has ended"})
        self.lost()
        if self.pid:
            _end(self.pid)
        self._words.close()

    def _start(self, *flags: str) -> Connection:
        ours, theirs = pair()
        try:
            self.pid = self._spawn(theirs.fileno(), flags)
        finally:
            theirs.close()
        self._starts += 1
        self.connection = ours
        return ours

    def _send(self, type_: str, body: dict[str, Any]) -> None:
        # One that is gone is noticed by the end of its connection.
        if self.connection is not None:
            with contextlib.suppress(PeerClosed):
                self.connection.send(type_, body)

    def _spawn(self, fd: int, flags: tuple[str, ...]) -> int:
        plan = self._plan
        options = {
            "--fd": fd,
            "--url": plan.url,
            "--run-dir": plan.run_dir,
            "--holder": self._holder,
        }
        words = [str(word) for option in options.items() for word in option]
        return process.spawn(
            sys.executable,
            [sys.executable, "-P", "-m", _MODULE, *words, *flags],
            own_environment(os.environ),
            streams=Streams(self._words.fileno(), self._words.fileno()),
            inherit=[fd],
        )


def _end(pid: int) -> None:
    """Waits for a child for a while, then kills it."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        fd = os.pidfd_open(pid)
        try:
            if not select.select([fd], [], [], _EXIT_SECONDS)[0]:
                signal.pidfd_send_signal(fd, signal.SIGKILL)
            os.waitpid(pid, 0)
        finally:
            os.close(fd)
