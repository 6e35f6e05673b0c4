"""The limits that a process lives under and that can end it."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from pitstop.events import JsonValue

_LIMITS = {
    "cpu_seconds": resource.RLIMIT_CPU,
    "address_space_bytes": resource.RLIMIT_AS,
    "processes": resource.RLIMIT_NPROC,
    "open_files": resource.RLIMIT_NOFILE,
    "file_size_bytes": resource.RLIMIT_FSIZE,
}


def read(pid: int) -> dict[str, JsonValue] | None:
    """The resource limits of a process, None when they cannot be read.

    Each is `{"soft": N, "hard": N}` with None for "unlimited"; the names carry
    the units.
    """
    try:
        return {name: _pair(resource.prlimit(pid, number)) for name, number in _LIMITS.items()}
    except (ProcessLookupError, PermissionError):
        return None


def read_space(folder: Path) -> dict[str, JsonValue] | None:
    """Size and free bytes of the file system of a folder, None when there is none."""
    try:
        status = os.statvfs(folder)
    except OSError:
        return None
    size_bytes, free_bytes = status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize
    return {"size_bytes": size_bytes, "free_bytes": free_bytes}


def _pair(limit: tuple[int, int]) -> dict[str, int | None]:
    soft, hard = (None if value == resource.RLIM_INFINITY else value for value in limit)
    return {"soft": soft, "hard": hard}
