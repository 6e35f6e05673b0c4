"""The supervisor's end of the uploader: started, told, heard, and ended."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

from pitstop.errors import EnvironmentFault, PeerClosed, UserError
from pitstop.link.messages import Abandon, Begin, NotOpened, Say
from pitstop.link.wire import Connection
from pitstop.supervisor.helpers.helper_link import HelperLink, spawn_module

_MODULE = "pitstop.remote.uploader"
_EXIT_SECONDS = 6.0
_WORDS_BYTES = 4096


class MirrorLink(HelperLink):
    """One uploader at a time, replaced when it dies."""

    def __init__(self, url: str, run_dir: Path, *, new: bool) -> None:
        """`new`: the user wants to begin anew."""
        super().__init__()
        self.url = url
        self._run_dir = run_dir
        self._new = new
        self._holder = secrets.token_hex(16)
        self._begun = False
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()

    def open(self, say: Callable[[str], None]) -> None:
        """Starts the uploader, waits until the local folder can be used; `say` tells the user.

        Raises `UserError` where the mirror is in use or of another run, else `EnvironmentFault`.
        """
        connection = self._start_uploader(*(["--new"] if self._new else []))
        try:
            while isinstance(message := connection.receive().message, Say):
                say(message.line)
        except PeerClosed as error:
            raise EnvironmentFault(
                f"The process that reads {self.url} ended: {self.last_words()}."
            ) from error
        if isinstance(message, NotOpened):
            kind = UserError if message.by_user else EnvironmentFault
            raise kind(message.message, message.remedy)

    def restart(self) -> Connection:
        """Starts another one in place of one that died; `OSError` where that fails."""
        return self._start_uploader("--again")

    def begin(self) -> None:
        """The local folder is ours: send what is in it; later attempts need not say so again."""
        if not self._begun:
            self._begun = True
            self.send(Begin())

    def last_words(self) -> str:
        """The last line that it wrote to its standard error."""
        size_bytes = os.fstat(self._words.fileno()).st_size
        tail = os.pread(self._words.fileno(), _WORDS_BYTES, max(0, size_bytes - _WORDS_BYTES))
        lines = tail.decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")

    def close(self) -> None:
        self.send(Abandon("the run has ended"))
        self.lost()
        if self.pid:
            _end(self.pid)
        self._words.close()

    def _start_uploader(self, *flags: str) -> Connection:
        self._begun = False
        return self._start(lambda fd: self._spawn(fd, flags))

    def _spawn(self, fd: int, flags: tuple[str, ...]) -> int:
        options: dict[str, object] = {
            "--fd": fd,
            "--url": self.url,
            "--run-dir": self._run_dir,
            "--holder": self._holder,
        }
        return spawn_module(_MODULE, options, self._words.fileno(), [fd], flags=flags)


def _end(pid: int) -> None:
    """Waits for a child for a while, then kills it; one that was collected is left alone."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        fd = os.pidfd_open(pid)
        try:
            # Not a child of ours any more: another process may have got the number.
            os.waitid(os.P_PIDFD, fd, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if not select.select([fd], [], [], _EXIT_SECONDS)[0]:
                signal.pidfd_send_signal(fd, signal.SIGKILL)
            os.waitpid(pid, 0)
        finally:
            os.close(fd)
