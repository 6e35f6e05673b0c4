"""The user's command as processes: started, watched, ended to the last one."""

import contextlib
import errno
import fcntl
import os
import signal
import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence

from pitstop.errors import EnvironmentFault
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.machine import own_process
from pitstop.machine.kernel_file import read_text, stat_fields
from pitstop.supervisor.lifecycle.table import State, Trigger
from pitstop.supervisor.processes import process
from pitstop.supervisor.processes.process import Exit, StandardStreams

_NEVER = float("inf")


class WatchedProcess(ABC):
    """A trainer and the processes that it started."""

    prepared = False  # its libraries were imported before the attempt began

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.exit: Exit | None = None  # None while it lives, and if nobody knows how it ended
        self.killed = False  # all its processes were sent SIGKILL
        self._kill_at = _NEVER

    @property
    def wait_status(self) -> int | None:
        return self.exit.wait_status if self.exit else None

    def forward(self, name: str, descendants: Collection[int]) -> None:
        self._send(signal.Signals[name] if name else signal.SIGTERM, descendants)

    def terminate(self, descendants: Collection[int], grace_seconds: float) -> None:
        self._kill_at = time.monotonic() + grace_seconds
        self._send(signal.SIGTERM, descendants)

    def kill(self, descendants: Collection[int]) -> None:
        self._kill_at = _NEVER
        self.killed = True
        self._send(signal.SIGKILL, descendants)

    @property
    def grace_passed(self) -> bool:
        return time.monotonic() >= self._kill_at

    def resume(self, away_seconds: float) -> None:
        self._kill_at += away_seconds

    @abstractmethod
    def _send(self, number: signal.Signals, descendants: Collection[int]) -> None: ...


class TrainerProcess(WatchedProcess):
    """The command's main process, leader of its own session, and everything that came out of it."""

    def __init__(self, pid: int, *, prepared: bool = False) -> None:
        super().__init__(pid)
        self.prepared = prepared

    @property
    def gone(self) -> bool:
        return self.exit is not None

    def collected(self, ended: Exit, trainer_pid: int) -> None:
        """A script in the background ends as its training process does."""
        trained_behind = self.exit is not None and ended.pid == trainer_pid
        if ended.pid == self.pid or trained_behind:
            self.exit = ended

    def suspend(self) -> None:
        own_process.send_to_group(signal.SIGSTOP, self.pid)

    def resume(self, away_seconds: float) -> None:
        super().resume(away_seconds)
        own_process.send_to_group(signal.SIGCONT, self.pid)

    def _send(self, number: signal.Signals, descendants: Collection[int]) -> None:
        strays = list(descendants)
        if self.exit is None:
            # The group at once; processes that left it for their own session one by one.
            strays = [pid for pid in strays if _group_of(pid) != self.pid]
            own_process.send_to_group(number, self.pid)
        own_process.send(number, strays)


def start(
    program: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    streams: StandardStreams,
    signal_mask: frozenset[signal.Signals],
) -> TrainerProcess:
    """Raises `CommandNotExecutable`, or `EnvironmentFault` for no more processes."""
    try:
        pid = process.spawn(program, command, environment, streams=streams, signal_mask=signal_mask)
    except OSError as error:
        raise process.explain_refusal(program, error) from error
    return TrainerProcess(pid)


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def aftermath(
    wait_status: int | None, trainer_pid: int, survivors: Collection[int], state: State
) -> Trigger | None:
    """What the end of the main process means; None when there is only to wait.

    Where it succeeds while the training process lives, or before one has reported
    (`trainer_pid` is 0), the command has gone into the background.
    """
    if not survivors:
        return Trigger.TRAINER_GONE
    if state is State.ENDING:
        return None
    undisturbed = state in (State.STARTING, State.RUNNING)
    if undisturbed and wait_status == 0 and (not trainer_pid or trainer_pid in survivors):
        return Trigger.DAEMONIZED
    return None if trainer_pid in survivors else Trigger.LEFTOVERS


# include/uapi/linux/pidfd.h: struct pidfd_info of 64 bytes, the exit status in
# its last four; filled in once the process was reaped (Linux 6.15).
_INFO = struct.Struct("=Q52xi")
_GET_INFO = 0xC000FF0B | _INFO.size << 16
_INFO_EXIT = 1 << 3
_EXIT_CODE_FIELD = 49  # index of `exit_code` after the command name in /proc/PID/stat (proc(5))


class AdoptedProcess(WatchedProcess):
    """The process that asked to be supervised."""

    def __init__(self, pid: int) -> None:
        """Watches a process; `EnvironmentFault` where it is gone, or there is no pidfd."""
        super().__init__(pid)
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
        self.gone = True
        fields = stat_fields(read_text(f"/proc/{self.pid}/stat"))
        is_zombie = bool(fields) and fields[0] == "Z"
        status = int(fields[_EXIT_CODE_FIELD]) if is_zombie else _status_of_reaped(self._pidfd)
        if status is not None:
            self.exit = Exit(self.pid, status, None)

    def collected(self, ended: Exit, trainer_pid: int) -> None:
        """Ignores the supervisor's own children."""

    def suspend(self) -> None:
        """Its own shell stops it; nothing to do."""

    def _send(self, number: signal.Signals, descendants: Collection[int]) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, number)
        own_process.send(number, descendants)


class KernelProcess(AdoptedProcess):
    """A notebook's kernel: a stop ends what it trains, and never the kernel."""

    def let_go(self) -> None:
        """Ends the supervision of a process whose training has ended, or that trains without us."""
        self.gone = True
        self.exit = Exit(self.pid, EXIT_STOPPED << 8, None)

    def _send(self, number: signal.Signals, descendants: Collection[int]) -> None:
        self.let_go()


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
