"""The mirror of an attempt: told of what is saved, and waited for at the end."""

import contextlib
import os
import secrets
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pitstop.errors import EnvironmentFault, PeerClosed, UserError
from pitstop.events import CheckpointCommitted, Event, Notice, UploadGivenUp, from_record
from pitstop.link.messages import Abandon, Changed, EventReport, Finish, NotOpened, Say
from pitstop.link.wire import Connection
from pitstop.machine.own_process import wait_for_exit
from pitstop.supervisor.helpers.helper_link import HelperLink
from pitstop.supervisor.lifecycle.occurrences import EventLoop, Occurrence
from pitstop.supervisor.records.notices import mirror_lost

_MODULE = "pitstop.remote.uploader"
_EXIT_SECONDS = 6.0
_WORDS_BYTES = 4096


class MirrorLink(HelperLink):
    """One uploader at a time, replaced when it dies."""

    def __init__(self, url: str, run_dir: Path, *, new: bool) -> None:
        super().__init__()
        self.url = url
        self._run_dir = run_dir
        self._new = new
        self._holder = secrets.token_hex(16)
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()

    def open(self, say: Callable[[str], None]) -> None:
        """Starts the uploader, waits for the folder; raises `UserError` or `EnvironmentFault`."""
        connection = self.start(new=self._new)
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

    def start(self, *, new: bool = False, again: bool = False) -> Connection:
        """Starts one, `again`: in place of one that died; `OSError` where that fails."""
        place = {"url": self.url, "run_dir": str(self._run_dir), "holder": self._holder}
        told = {**place, "new": new, "again": again}
        return self._start(_MODULE, told, self._words.fileno())

    def last_words(self) -> str:
        size_bytes = os.fstat(self._words.fileno()).st_size
        tail = os.pread(self._words.fileno(), _WORDS_BYTES, max(0, size_bytes - _WORDS_BYTES))
        lines = tail.decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it gave no reason")

    def close(self) -> None:
        self.send(Abandon("the run has ended"))
        self.lost()
        if self.pid:
            _end(self.pid)
        self._words.close()


def _end(pid: int) -> None:
    """Waits for a child for a while, then kills it; one that was collected is left alone."""
    with contextlib.suppress(ChildProcessError):
        # No child of ours any more: another process may have its number.
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if not wait_for_exit(pid, _EXIT_SECONDS):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


LEAST_PATIENCE_SECONDS = 5.0  # the time for the mirror after a stop that has used up its grace

_UNLIMITED_SECONDS = float("inf")
_LAST_ANSWER_SECONDS = 3.0
_TURN_SECONDS = 0.1
_END_OF_TIME = "there was no time left"


def patience_seconds(
    stop_waited_seconds: float | None, grace_seconds: float, left_seconds: float | None
) -> float:
    """How long to wait for the last uploads; without a stop the uploader itself gives up.

    `stop_waited_seconds`: None without a stop; `left_seconds`: of the time limit, if there is one.
    """
    wait = _UNLIMITED_SECONDS
    if stop_waited_seconds is not None:
        wait = max(grace_seconds - stop_waited_seconds, LEAST_PATIENCE_SECONDS)
    return wait if left_seconds is None else max(0.0, min(wait, left_seconds))


class Mirroring:
    """Talks with the uploader, if the run has a mirror."""

    def __init__(self, event_loop: EventLoop, link: MirrorLink | None) -> None:
        self._event_loop = event_loop
        self._link = link
        self._is_up_to_date = True
        self._finishing = False
        self._ends_at_seconds = _UNLIMITED_SECONDS
        self._reason = _END_OF_TIME

    def begin(self) -> None:
        if self._link is not None and self._link.connection is not None:
            self._link.send(Changed())
            self._event_loop.watch(self._link.connection, self._receive)

    def recorded(self, event: Event) -> None:
        if self._link is not None and isinstance(event, CheckpointCommitted):
            self._link.send(Changed())

    def finish(self, patience: float) -> Iterator[Occurrence]:
        """Waits until the mirror holds everything, the time is over, or `give_up`."""
        if self._link is None:
            return
        self._finishing = True
        self._ends_at_seconds = time.monotonic() + patience
        self._link.send(Finish())
        while self._link.connection is not None and time.monotonic() < self._ends_at_seconds:
            yield from self._event_loop.turn(_TURN_SECONDS)
        self._link.send(Abandon(self._reason))
        give_up_at = time.monotonic() + _LAST_ANSWER_SECONDS
        while self._link.connection is not None and time.monotonic() < give_up_at:
            yield from self._event_loop.turn(_TURN_SECONDS)
        if self._is_up_to_date:
            complete = Notice("mirror_complete", f"{self._link.url} is up to date.")
            yield complete if self._link.finished else UploadGivenUp([], self._reason)

    def give_up(self, reason: str) -> None:
        self._ends_at_seconds, self._reason = 0.0, reason

    def close(self) -> None:
        if self._link is not None and self._link.connection is not None:
            self._event_loop.forget(self._link.connection)

    def _receive(self) -> Iterator[Occurrence]:
        if self._link is None:
            return
        try:
            received = self._link.receive()
        except PeerClosed:
            yield from self._ended(self._link)
            return
        for each in received:
            if isinstance(each.message, EventReport):
                event = from_record(each.message.event)
                self._is_up_to_date &= not isinstance(event, UploadGivenUp)
                yield event
        if self._link.finished:
            self._leave(self._link)

    def _ended(self, link: MirrorLink) -> Iterator[Occurrence]:
        self._leave(link)
        yield mirror_lost(link.last_words(), again=link.may_restart)
        if not link.may_restart:
            return
        try:
            link.start(again=True)
        except OSError as error:
            yield mirror_lost(error.strerror or str(error), again=False)
            return
        self.begin()
        if self._finishing:
            link.send(Finish())

    def _leave(self, link: MirrorLink) -> None:
        self.close()
        link.lost()
