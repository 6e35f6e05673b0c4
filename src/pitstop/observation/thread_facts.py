"""What the kernel says about the threads of a process: see proc(5)."""

import os
from collections.abc import Sequence
from pathlib import Path

from pitstop.machine.kernel_file import read_text, stat_fields
from pitstop.record import Frozen

_CLOCK_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_STATE, _UTIME, _STIME = 0, 11, 12  # indices after the command name in /proc/PID/stat

_READS_OR_WRITES = frozenset({0, 1}) if os.uname().machine == "x86_64" else frozenset({63, 64})
"""Numbers of read(2) and write(2)."""

_WAITING = {
    "futex": "for another thread",
    "poll": "for a descriptor",
    "select": "for a descriptor",
    "ep_poll": "for a descriptor",
    "nanosleep": "asleep",
    "pipe": "for a pipe",
    "unix_stream": "for a local socket",
    "tcp": "for the network",
    "sk_wait": "for the network",
    "do_wait": "for a child process",
    "n_tty": "for the terminal",
}


class ThreadFact(Frozen):
    tid: int
    name: str
    state: str  # one letter: R runs, S sleeps, D waits for a device, T is stopped, t traced
    channel: str = ""  # the kernel function it waits in, empty when not known
    file: str = ""  # what it reads or writes, empty when not known or it does neither

    def __str__(self) -> str:
        words = [f"thread {self.tid} ({self.name}): {self.state}"]
        words += [f"in {self.channel}"] if self.channel else []
        reason = next((text for key, text in _WAITING.items() if key in self.channel), "")
        words += [f"waits {reason}" if reason.startswith("for") else reason] if reason else []
        words += [f"at {self.file}"] if self.file else []
        return ", ".join(words)


def read(pid: int, proc: Path = Path("/proc")) -> tuple[ThreadFact, ...]:
    """The threads of a process, the main one first; none when it is gone."""
    try:
        tids = [int(entry.name) for entry in (proc / str(pid) / "task").iterdir()]
    except OSError:
        return ()
    # Numbers begin anew when the kernel has used all: a thread's may be below its process's.
    tids.sort(key=lambda tid: (tid != pid, tid))
    facts = (_read_thread(proc / str(pid) / "task" / str(tid), tid) for tid in tids)
    return tuple(fact for fact in facts if fact is not None)


def work_of(pids: Sequence[int], proc: Path = Path("/proc")) -> tuple[float, int]:
    """Seconds on, or waiting for, a processor, and bytes read and written, of all processes."""
    folders = [proc / str(pid) for pid in pids]
    stats = [stat_fields(read_text(folder / "stat")) for folder in folders]
    ticks = sum(int(fields[_UTIME]) + int(fields[_STIME]) for fields in stats if fields)
    seconds = ticks / _CLOCK_TICKS_PER_SECOND + sum(map(_queued_seconds, folders))
    return seconds, sum(map(_moved_bytes, folders))


def _read_thread(folder: Path, tid: int) -> ThreadFact | None:
    stat = read_text(folder / "stat")
    name, fields = stat.rpartition(")")[0].partition("(")[2], stat_fields(stat)
    if not fields:
        return None
    channel = read_text(folder / "wchan").strip()
    return ThreadFact(
        tid, name, fields[_STATE], "" if channel == "0" else channel, _file_of(folder)
    )


def _file_of(thread: Path) -> str:
    words = read_text(thread / "syscall").split()
    if len(words) < 2 or not words[0].isdecimal() or int(words[0]) not in _READS_OR_WRITES:
        return ""
    try:
        return str((thread / "fd" / str(int(words[1], 16))).readlink())
    except OSError:
        return ""


def _queued_seconds(process: Path) -> float:
    """Time in which its threads were ready to run and did not; 0 where it is not counted."""
    # "time on a processor, time in the queue, slices", in ns: Documentation/scheduler/sched-stats
    counts = (read_text(file).split() for file in process.glob("task/*/schedstat"))
    return sum(int(each[1]) for each in counts if len(each) > 1) / 1e9


def _moved_bytes(process: Path) -> int:
    lines = (line.partition(":") for line in read_text(process / "io").splitlines())
    return sum(int(value) for key, _, value in lines if key in ("rchar", "wchar"))
