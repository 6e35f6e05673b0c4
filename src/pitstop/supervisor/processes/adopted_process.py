"""A trainer that was there before its supervisor: watched and ended, not started.

It is no child of ours, so that its end comes through a pidfd, and its exit
status from the kernel's own records, where those can be read.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import struct
from collections.abc import Collection
from pathlib import Path

from pitstop.errors import EnvironmentFault
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.machine import signalling
from pitstop.supervisor.processes.process import Exit
from pitstop.supervisor.processes.trainer_process import WatchedProcess

# include/uapi/linux/pidfd.h: struct pidfd_info of 64 bytes, the exit status in
# its last four; filled in once the process was reaped (Linux 6.15).
_INFO = struct.Struct("=Q52xi")
_GET_INFO = 0xC000FF0B | _INFO.size << 16
_INFO_EXIT = 1 << 3
_EXIT_CODE_FIELD = 49
"""Index of `exit_code` behind the command name in /proc/PID/stat (proc(5))."""


class AdoptedProcess(WatchedProcess):
    """The process that asked to be supervised.

    `exit`: how it ended; None while it lives, and where that stays unknown.
    """

    def __init__(self, pid: int) -> None:
        """Watches a process; `EnvironmentFault` where it is gone, or there is no pidfd."""
        super().__init__()
        self.pid = pid
        self.exit: Exit | None = None
        self.gone = False
        try:
            self._pidfd = os.pidfd_open(pid)
        except OSError as error:
            raise EnvironmentFault(
                f"Process {pid} cannot be supervised: {error.strerror}.",
                "Run the script with `pitstop run` instead.",
            ) from error

    def fileno(self) -> int:
        return self._pidfd

    def close(self) -> None:
        os.close(self._pidfd)

    def collect(self) -> None:
        """It has ended: finds out how, as far as that is on record."""
        self.gone = True
        status = _status_of_zombie(self.pid)
        if status is None:
            status = _status_of_reaped(self._pidfd)
        if status is not None:
            self.exit = Exit(self.pid, status, None)

    def collected(self, ended: Exit, trainer_pid: int) -> None:
        """Takes no note of the supervisor's own children."""

    @property
    def wait_status(self) -> int | None:
        return self.exit.wait_status if self.exit else None

    def suspend(self) -> None:
        """Its own shell stops it; nothing to do."""

    def let_go(self) -> None:
        """Does nothing: it is a script, whose end is awaited."""

    def _send(self, number: signal.Signals, descendants: Collection[int]) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, number)
        signalling.send(number, descendants)


class KernelProcess(AdoptedProcess):
    """A notebook's kernel: a stop ends what it trains, and never the kernel."""

    def let_go(self) -> None:
        """Its training has ended, or is left to it: from here on it is not supervised."""
        self.gone = True
        self.exit = Exit(self.pid, EXIT_STOPPED << 8, None)

    def _send(self, number: signal.Signals, descendants: Collection[int]) -> None:
        self.let_go()


def _status_of_zombie(pid: int) -> int | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(fields[_EXIT_CODE_FIELD]) if fields[0] == b"Z" else None


def _status_of_reaped(pidfd: int) -> int | None:
    info = bytearray(_INFO.pack(_INFO_EXIT, 0))
    try:
        fcntl.ioctl(pidfd, _GET_INFO, info)
    except OSError as error:
        if error.errno in (errno.ENOTTY, errno.EINVAL, errno.ESRCH):
            return None
        raise
    mask, status = _INFO.unpack(info)
    return status if mask & _INFO_EXIT else None
