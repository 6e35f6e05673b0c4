"""The file systems that a run uses: which they are, and how full (proc(5))."""

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from pitstop.flight.sample import DiskSample
from pitstop.machine.kernel_file import Mount, mounts, read_text

FILES = "files"  # the user of a disk that holds only open files of the training

_LOOK_SECONDS = 30.0
_NO_DISKS = frozenset(
    {"proc", "sysfs", "cgroup", "cgroup2", "devpts", "devtmpfs", "nsfs", "mqueue"}
)


class DiskReader:
    """Measures the disks that a run uses; `asking` is the mount that is asked just now."""

    def __init__(
        self, places: Mapping[str, Path], trainer_pid: Callable[[], int], root: Path = Path("/")
    ) -> None:
        self.asking = ""
        self._places = {name: path.absolute() for name, path in places.items()}
        self._trainer_pid = trainer_pid
        self._proc = root / "proc"
        self._known: list[DiskSample] = []
        self._look_at = 0.0

    def read(self) -> list[DiskSample]:
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + _LOOK_SECONDS
            among = mounts(read_text(self._proc / "self/mountinfo"))
            self._known = in_use(self._places, open_files(self._trainer_pid(), self._proc), among)
        self._known = [self._measured(disk) for disk in self._known]
        self.asking = ""
        return self._known

    def _measured(self, disk: DiskSample) -> DiskSample:
        self.asking = disk.mount
        try:
            status = os.statvfs(disk.mount)
        except OSError:
            return replace(disk, answers=False)
        return replace(
            disk,
            answers=True,
            size_bytes=status.f_blocks * status.f_frsize,
            free_bytes=status.f_bavail * status.f_frsize,
            read_only=bool(status.f_flag & os.ST_RDONLY),
        )


def unanswered(disks: Iterable[DiskSample], asking: str) -> list[DiskSample]:
    """The disks of the last reading, when the one that is asked now does not answer."""
    return [replace(each, answers=each.answers and each.mount != asking) for each in disks]


def mount_of(path: str, among: Iterable[Mount]) -> Mount | None:
    """The file system that holds an absolute path: the last one mounted on its longest part."""
    above = [each for each in among if f"{path}/".startswith(each.path.rstrip("/") + "/")]
    longest = max((len(each.path) for each in above), default=0)
    return next((each for each in reversed(above) if len(each.path) == longest), None)


def in_use(
    places: Mapping[str, Path], files: Iterable[str], among: list[Mount]
) -> list[DiskSample]:
    used = [(name, str(path)) for name, path in places.items()]
    used += [(FILES, path) for path in files if path.startswith("/")]
    users: dict[Mount, list[str]] = {}
    for name, path in used:
        mount = mount_of(path, among)
        if mount is not None and mount.kind not in _NO_DISKS:
            names = users.setdefault(mount, [])
            names += [name] if name not in names and not (name == FILES and names) else []
    return [
        DiskSample(mount.path, mount.kind, names, read_only=mount.read_only)
        for mount, names in users.items()
    ]


def open_files(pid: int, proc: Path = Path("/proc")) -> list[str]:
    found: list[str] = []
    with contextlib.suppress(OSError):
        for entry in (proc / str(pid) / "fd").iterdir():
            # One may be closed before it is looked at, such as the one that lists them.
            with contextlib.suppress(OSError):
                found.append(str(entry.readlink()))
    hidden = ("/dev/", "/proc/", "/sys/", "/memfd:")
    return [link for link in found if link.startswith("/") and not link.startswith(hidden)]
