"""The memory cgroup of a process: its counters and the limit in force, v1 and v2.

Sources: the kernel's Documentation/admin-guide/cgroup-v1/memory.rst and
Documentation/admin-guide/cgroup-v2.rst; proc(5) for the two tables in /proc.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from pitstop.machine.kernel_file import Mount, mounts, read_number, read_text, table
from pitstop.record import Frozen

_UNLIMITED_BYTES = 1 << 62
"""v1 has no word for "no limit"; it shows the largest page-aligned number."""


class MemoryCgroup(Frozen):
    """Where the memory controller keeps the counters of a process; `top` is all that is visible."""

    version: int
    path: str
    folder: Path
    top: Path


class MemoryCounters(Frozen):
    """Counters of one memory cgroup, and the least limit of it and its ancestors; None for none."""

    oom_kills: int | None
    limit_bytes: int | None
    usage_bytes: int | None
    peak_bytes: int | None


class _Names(Frozen):
    """How one version of the controller names its files, and the cache in `memory.stat`."""

    events: str
    limit: str
    usage: str
    peak: str
    cache: tuple[str, ...]


_NAMES = {
    1: _Names(
        "memory.oom_control",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "memory.max_usage_in_bytes",
        ("total_active_file", "total_inactive_file"),
    ),
    2: _Names(
        "memory.events",
        "memory.max",
        "memory.current",
        "memory.peak",
        ("active_file", "inactive_file"),
    ),
}


def find(pid: int, root: Path = Path("/")) -> MemoryCgroup | None:
    """The memory cgroup of a process, if any; `root` holds `proc` and all that its mounts name."""
    # v1 first: where both are mounted, memory is a v1 controller or absent in v2.
    candidates = (
        _locate(path, mount, version, root)
        for version, path, mount in _memberships(pid, "memory", root)
    )
    return next((each for each in candidates if each is not None), None)


def folder_of(pid: int, controller: str, root: Path = Path("/")) -> Path | None:
    """The folder in which another controller, such as "pids", keeps the counters of a process."""
    places = _memberships(pid, controller, root)
    folders = (_folder(path, mount, root) for _, path, mount in places)
    return next((folder for folder in folders if folder.is_dir()), None)


def read(group: MemoryCgroup) -> MemoryCounters:
    names = _NAMES[group.version]
    limits = [read_number(folder / names.limit) for folder in _up(group.folder, group.top)]
    known = [limit for limit in limits if limit is not None and limit < _UNLIMITED_BYTES]
    killed = re.search(r"^oom_kill (\d+)$", read_text(group.folder / names.events), re.MULTILINE)
    return MemoryCounters(
        oom_kills=int(killed[1]) if killed else None,
        limit_bytes=min(known, default=None),
        usage_bytes=read_number(group.folder / names.usage),
        peak_bytes=read_number(group.folder / names.peak),
    )


def left_bytes(group: MemoryCgroup) -> int | None:
    """Memory that may still be charged, with the cache of files; None for no limit."""
    names = _NAMES[group.version]
    left = [_left_in(folder, names) for folder in _up(group.folder, group.top)]
    return min((each for each in left if each is not None), default=None)


def cache_bytes(group: MemoryCgroup) -> int:
    return _cache_in(group.folder, _NAMES[group.version])


def _left_in(folder: Path, names: _Names) -> int | None:
    limit_bytes, usage_bytes = read_number(folder / names.limit), read_number(folder / names.usage)
    if limit_bytes is None or usage_bytes is None or limit_bytes >= _UNLIMITED_BYTES:
        return None
    return min(limit_bytes, max(0, limit_bytes - usage_bytes + _cache_in(folder, names)))


def _cache_in(folder: Path, names: _Names) -> int:
    stat = table(read_text(folder / "memory.stat"))
    return sum(int(stat.get(name, 0)) for name in names.cache)


def _paths(memberships: str, version: int, controller: str) -> Iterator[str]:
    for line in memberships.splitlines():
        hierarchy, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if version == 1 and controller in controllers.split(","):
            yield path
        if version == 2 and hierarchy == "0" and not controllers:
            yield path


def _memberships(pid: int, controller: str, root: Path) -> Iterator[tuple[int, str, Mount]]:
    text = read_text(root / "proc" / str(pid) / "cgroup")
    mounted = mounts(read_text(root / "proc/self/mountinfo"))
    first = [each for each in mounted if each.kind == "cgroup" and controller in each.super_options]
    second = [each for each in mounted if each.kind == "cgroup2"]
    for version, hierarchies in ((1, first), (2, second)):
        for path in _paths(text, version, controller):
            yield from ((version, path, each) for each in hierarchies)


def _locate(path: str, mount: Mount, version: int, root: Path) -> MemoryCgroup | None:
    folder, top = _folder(path, mount, root), _top(mount, root)
    # The root of v2 has no memory files of its own; its children have them.
    is_root = version == 2 and "memory" in read_text(folder / "cgroup.controllers").split()
    if not is_root and not (folder / _NAMES[version].usage).exists():
        return None
    return MemoryCgroup(version, path, folder, top)


def _folder(path: str, mount: Mount, root: Path) -> Path:
    below = path
    if mount.root != "/" and f"{path}/".startswith(f"{mount.root}/"):
        below = path[len(mount.root) :]  # a container sees only its own part, mounted at the top
    return _top(mount, root) / below.strip("/")


def _top(mount: Mount, root: Path) -> Path:
    return root / mount.path.lstrip("/")


def _up(folder: Path, top: Path) -> Iterator[Path]:
    yield folder
    while folder != top and top in folder.parents:
        folder = folder.parent
        yield folder
