"""The kernel's log: who was killed for memory, and who crashed, since we began to watch.

Record format: the kernel's Documentation/ABI/testing/dev-kmsg.  The two lines
of a kill are written by mm/oom_kill.c: a summary that names the cgroup, and
"Killed process".  Crashes are told by arch/x86/mm/fault.c and arch/x86/kernel/traps.c,
by the number of the thread, where /proc/sys/debug/exception-trace is not 0.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_RECORD_BYTES = 8192
"""The kernel never hands out a longer record."""

_SUMMARY = re.compile(
    r"oom-kill:constraint=(?P<constraint>\w+),.*?"
    r"task_memcg=(?P<cgroup>[^,]*),task=(?P<command>.*),pid=(?P<pid>\d+),uid=\d+"
)
_KILLED = re.compile(
    r"(?P<scope>Memory cgroup out of memory|Out of memory): "
    r"Killed process (?P<pid>\d+) \((?P<command>.*?)\)"
    r"(?:.*?anon-rss:(?P<anon_kb>\d+)kB)?"
)
_FAULT = re.compile(r"^(?:traps: )?.{1,15}\[\d+\]:? (?:segfault at|trap |general protection)")


@dataclass(frozen=True)
class OomKill:
    """One line of the kernel log about a process killed for memory.

    Attributes:
        pid: as the kernel counts, which differs inside a pid namespace.
        command: the first 15 characters of the process's name.
        cgroup: its memory cgroup; empty when this line does not name it.
        whole_machine: the machine was out of memory, not only a cgroup.
        anonymous_bytes: its own memory, None when this line does not say.
    """

    pid: int
    command: str
    cgroup: str
    whole_machine: bool
    anonymous_bytes: int | None


def parse_oom_kill(line: str) -> OomKill | None:
    """The kill that a line of the kernel log tells, or None for any other line."""
    if match := _SUMMARY.search(line):
        whole_machine = match["constraint"] != "CONSTRAINT_MEMCG"
        return OomKill(int(match["pid"]), match["command"], match["cgroup"], whole_machine, None)
    if match := _KILLED.search(line):
        whole_machine = match["scope"] == "Out of memory"
        anonymous_bytes = int(match["anon_kb"]) * 1024 if match["anon_kb"] else None
        return OomKill(int(match["pid"]), match["command"], "", whole_machine, anonymous_bytes)
    return None


def select(lines: list[str], pids: frozenset[int], cgroup: str) -> list[str]:
    """The lines about kills of these processes or in this memory cgroup.

    A line that names no cgroup is taken when a line that does names the same
    process.  The root cgroup would match everything and matches nothing.
    """
    kills = [(line, parse_oom_kill(line)) for line in lines]
    wanted = set(pids) | {kill.pid for _, kill in kills if kill and _is_in(kill.cgroup, cgroup)}
    return [line for line, kill in kills if kill and kill.pid in wanted]


def faults(lines: list[str]) -> list[str]:
    """The lines about processes that crashed; one that was sent the signal is not among them."""
    return [line for line in lines if _FAULT.search(line)]


def _is_in(cgroup: str, ours: str) -> bool:
    # The kernel names cgroups from its own root, a container from its own.
    own = ours.rstrip("/")
    return bool(own) and (cgroup.endswith(own) or f"{own}/" in cgroup)


class KernelLog:
    """The kernel log from the moment of opening on."""

    def __init__(self, path: Path = Path("/dev/kmsg")) -> None:
        """Opens the log at its end.

        Raises:
            OSError: it is missing, or reading it is not allowed.
        """
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.lseek(self._fd, 0, os.SEEK_END)

    def read(self) -> list[str]:
        """The messages since the last call, without the kernel's prefix."""
        lines: list[str] = []
        while True:
            try:
                record = os.read(self._fd, _RECORD_BYTES)
            except BrokenPipeError:
                continue  # records were overwritten before we came; the next read goes on
            except BlockingIOError:
                return lines
            if not record:
                return lines
            lines += _messages(record)

    def close(self) -> None:
        """Closes the log."""
        os.close(self._fd)


def _messages(record: bytes) -> list[str]:
    # "6,423,1450446169,-;message\n KEY=value\n": continuation lines are not messages.
    text = record.decode(errors="replace")
    lines = (line for line in text.splitlines() if not line.startswith(" "))
    return [line.partition(";")[2] or line for line in lines]
