"""Talking to the supervisor of a run, if there is one."""

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Self, TypeVar

from pitstop import errors
from pitstop.cluster.roster import no_answer
from pitstop.link import messages
from pitstop.link.wire import Connection
from pitstop.machine.own_process import is_suspended
from pitstop.store.lock import LockRecord, is_locked, read_lock
from pitstop.store.run_folder import RunFolder, open_existing
from pitstop.supervisor.status import NO_ANSWER, SUSPENDED, Status, stored_status

ANSWER_SECONDS = 1.5
"""The time for an answer: a supervisor looks for clients several times a second."""
_ASKED_AT_ONCE = 32
_POLL_SECONDS = 0.05
_ENDED = "The run has ended without that checkpoint."
_Answer = TypeVar("_Answer", bound=messages.Message)


def holder(folder: RunFolder) -> LockRecord | None:
    return read_lock(folder.lock) if is_locked(folder.lock) else None


def suspended(folder: RunFolder) -> int:
    """Process id of the supervisor, if that is suspended, as by Ctrl-Z; else 0."""
    record = holder(folder)
    return record.pid if record is not None and _is_suspended(record) else 0


def wake(pid: int) -> None:
    """Continues a suspended process, 0 for none; `UserError` if it is another user's."""
    try:
        if pid:
            os.kill(pid, signal.SIGCONT)
    except PermissionError as error:
        raise errors.UserError(
            f"Process {pid} is suspended and belongs to another user.", "Ask that user to stop it."
        ) from error


def _is_suspended(record: LockRecord) -> bool:
    return record.host == socket.gethostname() and is_suspended(record.pid, record.start_time_ticks)


class LiveRun:
    """A connection to the supervisor of a run; questions raise `PeerClosed` or `NoAnswer`."""

    def __init__(self, connection: Connection, holder_pid: int) -> None:
        self._connection = connection
        self._holder_pid = holder_pid

    @classmethod
    def find(cls, folder: RunFolder) -> Self | None:
        """The live run in a folder, or None; raises `NoAnswer` if its supervisor lets nobody in."""
        record = holder(folder)
        if record is None or not record.socket:
            return None
        try:
            return cls(Connection.connect(record.socket, ANSWER_SECONDS), record.pid)
        except errors.NoAnswer as error:
            raise _no_answer(record.pid) from error
        except errors.PeerClosed:
            return None

    @classmethod
    def get(cls, folder: RunFolder) -> Self:
        """As `find`; `RunNotFound` when nobody supervises it now."""
        live = cls.find(folder)
        if live is None:
            raise errors.RunNotFound(
                f"{folder.path} is not running.", "Its last checkpoint is valid."
            )
        return live

    def status(self, *, of_all: bool = False) -> Status:
        request = messages.ClientRequest("status", of_all=of_all)
        return Status.from_json(self._ask(request, messages.StatusAnswer).status)

    def status_of_all(self) -> Status:
        """With a row of each task of the cluster, or of a leader that does not answer in time."""
        give_up_at = time.monotonic() + ANSWER_SECONDS
        while (now := self.status(of_all=True)).leader and not now.members:
            if time.monotonic() > give_up_at:
                return replace(now, members=[no_answer(now.leader).shown])
            time.sleep(_POLL_SECONDS)
        return now

    def suspended_trainer(self) -> int:
        now = self.status()
        return (now.pid or 0) if now.state == SUSPENDED else 0

    def stop(self, *, now: bool) -> None:
        self._ask(messages.ClientRequest("stop", now=now), messages.StatusAnswer)

    def stop_after_epoch(self) -> None:
        self._ask(messages.ClientRequest("stop_after_epoch"), messages.StatusAnswer)

    def checkpoint(self, name: str, waits: Callable[[], None]) -> messages.CheckpointAnswer:
        """Waits for a checkpoint, calls `waits` if that is long; `EnvironmentFault` if refused."""
        request = messages.ClientRequest("checkpoint", name=name)
        with contextlib.suppress(errors.NoAnswer):
            return self._ask(request, messages.CheckpointAnswer)
        waits()
        self._connection.socket.settimeout(None)
        try:
            return self._answer(messages.CheckpointAnswer)
        except errors.PeerClosed as error:
            raise errors.EnvironmentFault(_ENDED) from error

    def _ask(self, request: messages.ClientRequest, expected: type[_Answer]) -> _Answer:
        self._connection.socket.settimeout(ANSWER_SECONDS)
        self._connection.send(request)
        try:
            return self._answer(expected)
        except errors.NoAnswer as error:
            raise _no_answer(self._holder_pid) from error

    def _answer(self, expected: type[_Answer]) -> _Answer:
        answer = self._connection.receive().message
        if isinstance(answer, messages.Refusal):
            raise errors.EnvironmentFault(answer.reason)
        if not isinstance(answer, expected):
            raise errors.PeerClosed(f"The supervisor of this run answered {answer.type}.")
        return answer

    def wait_for_end(self) -> None:
        self._connection.socket.settimeout(None)
        with contextlib.suppress(errors.PeerClosed):
            while True:
                self._connection.receive()

    def close(self) -> None:
        self._connection.close()


def _no_answer(pid: int) -> errors.NoAnswer:
    return errors.NoAnswer(
        f"The supervisor of this run, process {pid}, does not answer.",
        f"Try `kill -TERM {pid}`, which stops the run, then `kill -KILL {pid}`: it is still saved.",
    )


def status_of(folder: RunFolder, *, of_all: bool = False) -> Status:
    """`of_all`: also of the other tasks of its cluster."""
    record = holder(folder)
    if record is None:
        return stored_status(folder)
    if _is_suspended(record):
        # A suspended supervisor does not answer.
        return replace(stored_status(folder), state=SUSPENDED, supervisor_pid=record.pid)
    try:
        live = LiveRun.find(folder)
        if live is not None:
            with contextlib.closing(live), contextlib.suppress(errors.PeerClosed):
                return live.status_of_all() if of_all else live.status()
    except errors.NoAnswer:
        return _held_status(folder, record, "running")
    if not is_locked(folder.lock):
        return stored_status(folder)
    # A process that holds the run and does not listen saves what a supervisor has left.
    is_here = record.host == socket.gethostname()
    return _held_status(folder, record, "stopping" if is_here else "running")


def _held_status(folder: RunFolder, record: LockRecord, state: str) -> Status:
    """A run without an end is under way, even if its holder does not answer."""
    stored = replace(stored_status(folder), supervisor_pid=record.pid, phase=NO_ANSWER)
    return stored if stored.exit_code is not None else replace(stored, state=state)


def status_at(path: Path) -> Status:
    """The status of the run at a path, for a list; a damaged run has one, too."""
    try:
        return status_of(open_existing(path))
    except errors.PitstopError:
        return Status(state="unreadable", run_dir=str(path))


def statuses_at(paths: Sequence[Path]) -> list[Status]:
    """The status of each; all are asked at once, since some may not answer."""
    with ThreadPoolExecutor(_ASKED_AT_ONCE, "pitstop-status") as threads:
        return list(threads.map(status_at, paths))


def wait_until_free(folder: RunFolder, timeout_seconds: float) -> bool:
    """Whether nobody holds the run in time: a persister may hold it longer than its supervisor."""
    give_up_at = time.monotonic() + timeout_seconds
    while is_locked(folder.lock):
        if time.monotonic() > give_up_at:
            return False
        time.sleep(_POLL_SECONDS)
    return True
