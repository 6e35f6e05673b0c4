"""When this process began, what the kernel says of another, and signals to others."""

import contextlib
import functools
import os
import signal
import time
from collections.abc import Collection
from pathlib import Path

from pitstop.machine.descriptors import readable
from pitstop.machine.kernel_file import read_text, stat_fields, table

# Indices of `starttime` and `exit_code` after the command name in /proc/PID/stat, see proc(5).
_START_TIME_FIELD, _EXIT_CODE_FIELD = 19, 49

_ENDED = ("Z", "X")
_SUSPENDED = ("T", "t")

_INITIAL_PID_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h."""


def sees_all_pids(root: Path = Path("/")) -> bool:
    """Whether the kernel's process numbers are the ones that this process sees."""
    link = root / "proc/self/ns/pid"
    return link.is_symlink() and str(link.readlink()) == _INITIAL_PID_NAMESPACE


def start_time_ticks() -> int:
    return _start_of(stat_fields(read_text("/proc/self/stat")))


def is_there(pid: int, began_ticks: int | None = None) -> bool:
    """Whether the process that began then is there now; one that was not collected is gone."""
    fields = _fields_of(pid, began_ticks)
    return bool(fields) and fields[0] not in _ENDED


def is_suspended(pid: int, began_ticks: int | None = None) -> bool:
    """Whether a process, the one that began then, is stopped: by Ctrl-Z, SIGSTOP or a debugger."""
    fields = _fields_of(pid, began_ticks)
    return bool(fields) and fields[0] in _SUSPENDED


def killed_by(pid: int) -> str:
    """The signal that ended a process which its parent has not collected yet; else empty."""
    fields = _fields_of(pid, None)
    status = int(fields[_EXIT_CODE_FIELD]) if fields and fields[0] in _ENDED else 0
    return signal_name(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else ""


def is_running(pid: int) -> bool:
    return is_there(pid) and not is_suspended(pid)


def heeds(pid: int, number: int) -> bool:
    """Whether a signal does more than its default: it is caught, blocked or ignored."""
    masks = _signal_masks(pid)
    return not masks or any(mask >> (number - 1) & 1 for mask in masks.values())


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal; without one it may be ended by it."""
    return bool(_signal_masks(pid).get("SigCgt", 0) >> (number - 1) & 1)


def _signal_masks(pid: int) -> dict[str, int]:
    status = table(read_text(f"/proc/{pid}/status"), ":")
    return {name: int(status[name], 16) for name in ("SigBlk", "SigIgn", "SigCgt") if status}


def _fields_of(pid: int, began_ticks: int | None) -> list[str]:
    fields = stat_fields(read_text(f"/proc/{pid}/stat"))
    return fields if fields and began_ticks in (None, _start_of(fields)) else []


def _start_of(fields: list[str]) -> int:
    return int(fields[_START_TIME_FIELD])


@functools.lru_cache(maxsize=4)
def _begun_ns(_pid: int) -> int:
    return start_time_ticks() * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def age_ns() -> int:
    begun_ns = _begun_ns(os.getpid())  # a child has begun later
    return max(0, time.clock_gettime_ns(time.CLOCK_BOOTTIME) - begun_ns)


def send(number: signal.Signals, pids: Collection[int]) -> None:
    """Signals each process; skips those that are gone, or belong to another user."""
    for pid in pids:
        # Of another user: what the script has started with sudo.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def send_to_group(number: signal.Signals, leader_pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader_pid, number)


def wait_for_exit(pid: int, timeout_seconds: float) -> bool:
    """Whether a process, of ours or not, is gone in time."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return True
    try:
        return bool(readable([fd], timeout_seconds))
    finally:
        os.close(fd)


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; `SIG41` for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"
