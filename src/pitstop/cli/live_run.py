"""Talking to the supervisor of a run, if there is one."""

from __future__ import annotations

import contextlib
import socket
import time
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pitstop.errors import EnvironmentFault, PeerClosed, PitstopError, RunNotFound
from pitstop.link.messages import (
    CheckpointAnswer,
    ClientRequest,
    Message,
    Refusal,
    StatusAnswer,
)
from pitstop.link.wire import Connection
from pitstop.machine.own_process import is_suspended
from pitstop.store.lock import LockRecord, is_locked, read_lock
from pitstop.store.run_folder import RUN_FILE, RunFolder, find_runs, open_existing
from pitstop.supervisor.processes.command_line import script_name
from pitstop.supervisor.runs.choice import RUNS, family, script_of
from pitstop.supervisor.status.status import SUSPENDED, Status
from pitstop.supervisor.status.stored_status import stored_status

_POLL_SECONDS = 0.05
_Answer = TypeVar("_Answer", bound=Message)


def holder(folder: RunFolder) -> LockRecord | None:
    """Who holds a run now; None for nobody."""
    return read_lock(folder.lock) if is_locked(folder.lock) else None


def suspended(folder: RunFolder) -> int:
    """Process id of the supervisor, if that is suspended, as by Ctrl-Z; else 0."""
    record = holder(folder)
    here = record is not None and record.host == socket.gethostname()
    if record is None or not here or not is_suspended(record.pid, record.start_time_ticks):
        return 0
    return record.pid


class LiveRun:
    """A connection to the supervisor of a run."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @classmethod
    def find(cls, folder: RunFolder) -> LiveRun | None:
        """The live run in a folder, None when nobody supervises it now."""
        record = holder(folder)
        if record is None or not record.socket:
            return None
        try:
            return cls(Connection.connect(record.socket))
        except PeerClosed:
            return None

    def status(self) -> Status:
        """What the supervisor says now.

        Raises:
            PeerClosed: it has ended.
        """
        return Status.from_json(self._ask(ClientRequest("status"), StatusAnswer).status)

    def stop(self, *, now: bool) -> None:
        """Asks for a stop; the run obeys at its next step boundary, or `now`.

        Raises:
            PeerClosed: the supervisor ended before it answered.
        """
        self._ask(ClientRequest("stop", now=now), StatusAnswer)

    def checkpoint(self, name: str = "") -> CheckpointAnswer:
        """Asks for a checkpoint, with a name if one is given, and waits until it is on disk.

        Raises:
            PeerClosed: the supervisor ended before it answered.
            EnvironmentFault: it refuses, and says why.
        """
        return self._ask(ClientRequest("checkpoint", name=name), CheckpointAnswer)

    def _ask(self, request: ClientRequest, expected: type[_Answer]) -> _Answer:
        self._connection.send(request)
        answer = self._connection.receive().message
        if isinstance(answer, Refusal):
            raise EnvironmentFault(answer.reason)
        if not isinstance(answer, expected):
            raise PeerClosed(f"The supervisor of this run answered {answer.type}.")
        return answer

    def wait_for_end(self) -> None:
        """Returns when the supervisor has closed everything."""
        with contextlib.suppress(PeerClosed):
            while True:
                self._connection.receive()

    def close(self) -> None:
        """Ends the conversation."""
        self._connection.close()


def find_run(path: Path | None) -> RunFolder:
    """The run that the user means: a folder, a script's newest, or the only one under runs/.

    Raises:
        RunNotFound: there is none, or more than one to choose from.
    """
    if path is not None:
        of_script = [] if (path / RUN_FILE).exists() else runs_of_script(str(path))
        return of_script[0] if of_script else open_existing(path)
    found = find_runs(RUNS)
    if len(found) == 1:
        return open_existing(found[0])
    if not found:
        raise RunNotFound(f"There is no run under {RUNS}/.", "Name the run's folder.")
    names = ", ".join(str(each) for each in found)
    raise RunNotFound("There is more than one run here.", f"Name one of {names}.")


def runs_of_script(name: str) -> list[RunFolder]:
    """The runs below runs/ of a script, named by its path or its name; the newest first."""
    runs = family(RUNS, script_name(name))
    path = str(Path(name).resolve())
    return [run for run in runs if script_of(run) == path] or runs


def status_of(folder: RunFolder) -> Status:
    """The status of a run, from its supervisor or else from its folder."""
    suspended_pid = suspended(folder)
    if suspended_pid:
        # Who is suspended does not answer.
        return replace(stored_status(folder), state=SUSPENDED, supervisor_pid=suspended_pid)
    live = LiveRun.find(folder)
    if live is not None:
        with contextlib.closing(live), contextlib.suppress(PeerClosed):
            return live.status()
    return stored_status(folder)


def status_at(path: Path) -> Status:
    """The status of the run at a path, in a list: one that is damaged stays in it."""
    try:
        return status_of(open_existing(path))
    except PitstopError:
        return Status(state="unreadable", run_dir=str(path))


def wait_until_free(folder: RunFolder, timeout_seconds: float) -> bool:
    """Waits until nobody holds the run any more; whether that came in time.

    A persister may hold it longer than the supervisor it has lost.
    """
    give_up_at = time.monotonic() + timeout_seconds
    while is_locked(folder.lock):
        if time.monotonic() > give_up_at:
            return False
        time.sleep(_POLL_SECONDS)
    return True
