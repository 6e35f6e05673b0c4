"""The kernel's log: who was killed for memory, and who crashed, since we began to watch.

Formats: Documentation/ABI/testing/dev-kmsg of the kernel; mm/oom_kill.c, two lines for a kill;
arch/x86/mm/fault.c and arch/x86/kernel/traps.c for crashes, by the number of the thread, where
/proc/sys/debug/exception-trace is not 0.
"""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from pitstop.record import Frozen

_RECORD_BYTES = 8192

_STAMP_FIELD = 2  # index of the microseconds since the boot in a record's prefix

_SUMMARY = re.compile(
    r"oom-kill:constraint=(?P<constraint>\w+),.*?"
    r"task_memcg=(?P<cgroup>[^,]*),task=.*,pid=(?P<pid>\d+),uid=\d+"
)
_KILLED = re.compile(
    r"(?P<scope>Memory cgroup out of memory|Out of memory): Killed process (?P<pid>\d+) \("
)
_FAULT = re.compile(r"^(?:traps: )?.{1,15}\[\d+\]:? (?:segfault at|trap |general protection)")

_SLACK_SECONDS = 1.0
_CALIBRATED_TO = 2e-5
"""By this share of the time since the boot two clocks of one counter may differ."""


class KernelMessage(Frozen):
    """A message of the kernel, and its time since the boot without that of sleep, if it has one."""

    text: str
    stamp_seconds: float | None


class OomKill(Frozen):
    """One line of the kernel log about a process killed for memory."""

    pid: int  # as the kernel counts; it differs inside a pid namespace
    cgroup: str  # empty if this line does not name it
    whole_machine: bool


def parse_oom_kill(line: str) -> OomKill | None:
    if match := _SUMMARY.search(line):
        whole_machine = match["constraint"] != "CONSTRAINT_MEMCG"
        return OomKill(int(match["pid"]), match["cgroup"], whole_machine)
    if match := _KILLED.search(line):
        whole_machine = match["scope"] == "Out of memory"
        return OomKill(int(match["pid"]), "", whole_machine)
    return None


def select(lines: list[str], pids: frozenset[int], cgroup: str) -> list[str]:
    """The lines about kills of these processes or in this memory cgroup, which is not the root.

    One that names no cgroup is taken when one that does names the same process.
    """
    kills = [(line, parse_oom_kill(line)) for line in lines]
    wanted = set(pids) | {kill.pid for _, kill in kills if kill and _is_in(kill.cgroup, cgroup)}
    return [line for line, kill in kills if kill and kill.pid in wanted]


def faults(messages: Iterable[KernelMessage]) -> list[KernelMessage]:
    return [each for each in messages if _FAULT.search(each.text)]


def least_ages(
    messages: Sequence[KernelMessage],
    opened_seconds: float,
    now_seconds: float,
    corrected_seconds: float,
) -> list[float] | None:
    """How many seconds ago each message was written, at least.

    Stamps stand still while the machine sleeps, as our clock, but no time server corrects them, as
    it did by `corrected_seconds` since the boot.  None where they do not fit our clock at all, as
    in a time namespace or after a virtual machine has moved.
    """
    slack = _SLACK_SECONDS + 2 * corrected_seconds + _CALIBRATED_TO * now_seconds
    ages = []
    for each in messages:
        stamp = each.stamp_seconds
        if stamp is None or not opened_seconds - slack <= stamp <= now_seconds + slack:
            return None
        ages.append(max(0.0, now_seconds - stamp - slack))
    return ages


def _is_in(cgroup: str, ours: str) -> bool:
    # The kernel names cgroups from its own root, a container from its own.
    own = ours.rstrip("/")
    return bool(own) and (cgroup.endswith(own) or f"{own}/" in cgroup)


class KernelLog:
    """The kernel log, from the time when it was opened."""

    def __init__(self, path: Path = Path("/dev/kmsg")) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.lseek(self._fd, 0, os.SEEK_END)

    def read(self) -> list[KernelMessage]:
        messages: list[KernelMessage] = []
        while True:
            try:
                record = os.read(self._fd, _RECORD_BYTES)
            except BrokenPipeError:
                continue  # records were overwritten before we came; the next read goes on
            except BlockingIOError:
                return messages
            if not record:
                return messages
            # "6,423,1450446169,-;message\n KEY=value\n": continuation lines are not messages.
            text = record.decode(errors="replace")
            messages += [_message(line) for line in text.splitlines() if not line.startswith(" ")]

    def close(self) -> None:
        os.close(self._fd)


def _message(line: str) -> KernelMessage:
    prefix, _, text = line.partition(";")
    fields = prefix.split(",")
    has_stamp = len(fields) > _STAMP_FIELD and fields[_STAMP_FIELD].isdecimal()
    return KernelMessage(text or line, int(fields[_STAMP_FIELD]) / 1e6 if has_stamp else None)
