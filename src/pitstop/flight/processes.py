"""The processes of a run, as /proc shows them (proc(5))."""

import os
import resource
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from pitstop.flight.sample import CHILD, ProcessSample
from pitstop.machine.kernel_file import read_text, size_bytes, stat_fields, table

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_USER_TICKS, _SYSTEM_TICKS = 11, 12  # indices after the command name in /proc/PID/stat


def read(pid: int, role: str, proc: Path = Path("/proc")) -> ProcessSample | None:
    """One process now; None when it is gone.  Never waits for the process's own memory lock."""
    folder = f"{proc}/{pid}"
    status = table(read_text(f"{folder}/status"), ":")
    stat = stat_fields(read_text(f"{folder}/stat"))
    if not status or not stat:
        return None
    ticks = int(stat[_USER_TICKS]) + int(stat[_SYSTEM_TICKS])
    private = sum(size_bytes(status, name) or 0 for name in ("RssAnon", "RssShmem", "VmSwap"))
    return ProcessSample(
        pid=pid,
        role=role,
        name=status.get("Name", ""),
        state=status.get("State", "")[:1],
        rss_bytes=size_bytes(status, "VmRSS") or 0,
        private_bytes=private,
        cpu_seconds=ticks / _TICKS_PER_SECOND,
        threads=int(status.get("Threads", 0)),
        open_files=_open_files(proc / str(pid) / "fd"),
        open_files_limit=_open_files_limit(pid),
    )


def descendants(roots: Collection[int], proc: Path = Path("/proc")) -> list[int]:
    found: list[int] = []
    waiting = list(roots)
    while waiting:
        children = [pid for pid in _children(waiting.pop(), proc) if pid not in found]
        found += children
        waiting += children
    return [pid for pid in found if pid not in roots]


def roles(known: Mapping[int, str], found: Collection[int]) -> dict[int, str]:
    return {**dict.fromkeys(found, CHILD), **{pid: role for pid, role in known.items() if pid}}


def _children(pid: int, proc: Path) -> Iterator[int]:
    try:
        threads = list((proc / str(pid) / "task").iterdir())
    except OSError:
        return
    for thread in threads:
        yield from map(int, read_text(thread / "children").split())


def _open_files(folder: Path) -> int | None:
    try:
        # The size of the folder, from Linux 6.2 on; 0 before.
        return folder.stat().st_size or sum(1 for _ in folder.iterdir())
    except OSError:
        return None


def _open_files_limit(pid: int) -> int | None:
    try:
        soft, _ = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    except (ProcessLookupError, PermissionError):
        return None
    return None if soft == resource.RLIM_INFINITY else soft
