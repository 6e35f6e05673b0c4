"""The processes that the command started; as their subreaper, we stay their ancestor."""

from collections.abc import Collection

import psutil

from pitstop.machine.kernel_file import read_text
from pitstop.machine.own_process import is_there


def living_descendants(excluding: Collection[int]) -> list[int]:
    """Our living descendants, without these and theirs, but with uncollected children."""
    children = [child for child in _children(psutil.Process()) if child.pid not in excluding]
    further = [each.pid for child in children for each in _children(child, recursive=True)]
    return [*(child.pid for child in children), *filter(is_there, further)]


def tree_of(pid: int) -> list[int]:
    try:
        return [pid, *(child.pid for child in _children(psutil.Process(pid), recursive=True))]
    except psutil.Error:
        return [pid]


def belongs_to(pid: int, ancestors: Collection[int]) -> bool:
    try:
        parents = [each.pid for each in psutil.Process(pid).parents()]
    except psutil.Error:
        parents = []
    return not {pid, *parents}.isdisjoint(ancestors)


def command_of(pid: int) -> str:
    return read_text(f"/proc/{pid}/cmdline").replace("\0", " ").strip()


def resident_bytes(pid: int) -> int | None:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return None


def _children(process: psutil.Process, *, recursive: bool = False) -> list[psutil.Process]:
    try:
        return process.children(recursive=recursive)
    except psutil.Error:
        return []
