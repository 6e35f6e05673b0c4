"""The lock of a run: while somebody holds it, the run is live.

The kernel holds the lock (`flock`) for an open file, and ends it with its last holder: the
persister, which inherits it, keeps a run locked when its supervisor has died.
"""

import contextlib
import fcntl
import json
import os
import socket
import time
from dataclasses import asdict
from pathlib import Path
from typing import Self

from pitstop.errors import RunFolderUnwritable, RunInUse
from pitstop.machine.own_process import is_there, start_time_ticks
from pitstop.machine.regular_file import NoRegularFile, open_regular
from pitstop.record import Frozen, build
from pitstop.store.disk_fault import explained
from pitstop.store.format import parsed

_TRIES = 5
_PAUSE_SECONDS = 0.01
_MAX_RECORD_BYTES = 64 * 1024


class LockRecord(Frozen):
    pid: int
    host: str
    start_time_ticks: int  # since the boot; no other process has both this and the pid
    socket: str  # path of its control socket, or empty


def own_record(socket_path: str = "") -> LockRecord:
    return LockRecord(os.getpid(), socket.gethostname(), start_time_ticks(), socket_path)


class RunLock:
    """The lock of a run, held until closed here and in all that inherited it."""

    def __init__(self, fd: int) -> None:
        """Takes over an open descriptor that holds the lock already."""
        self._fd = fd

    @classmethod
    def acquire(cls, path: Path, record: LockRecord) -> Self:
        """Locks the file, made when missing, and says who; or `RunInUse`, `RunFolderUnwritable`."""
        with explained(f"The lock {path} cannot be taken", RunFolderUnwritable):
            lock = cls(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644))
            with contextlib.ExitStack() as unless_held:
                unless_held.callback(lock.close)
                if lock._try_to_hold():
                    lock.write_record(record)
                    unless_held.pop_all()
                    return lock
        owner = read_lock(path)
        if owner is None:
            raise RunInUse(path.parent, None, "this host")
        raise RunInUse(path.parent, owner.pid, owner.host)

    def fileno(self) -> int:
        return self._fd

    def write_record(self, record: LockRecord) -> None:
        data = json.dumps(asdict(record)).encode() + b"\n"
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, data, 0)

    def close(self) -> None:
        # Not LOCK_UN: that would take the lock from every holder.
        os.close(self._fd)

    def _try_to_hold(self) -> bool:
        # `is_locked` in another process holds the lock for a moment.
        for _ in range(_TRIES):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            time.sleep(_PAUSE_SECONDS)
        return False


def read_lock(path: Path) -> LockRecord | None:
    """The last holder, also one that is gone; None if there was none or the file is damaged."""
    try:
        with open_regular(path) as file:
            return build(LockRecord, "lock", parsed(file.read(_MAX_RECORD_BYTES)))
    except (FileNotFoundError, NotADirectoryError, NoRegularFile, ValueError):
        return None


def is_running(record: LockRecord) -> bool:
    """Whether the process of a record is there now; on another host it counts as running."""
    on_another_host = record.host != socket.gethostname()
    return on_another_host or is_there(record.pid, record.start_time_ticks)


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock now; nobody does where there are no locks."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    finally:
        os.close(fd)
    return False
