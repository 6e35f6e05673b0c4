"""The memory that this process has in use at the most (proc(5): status, clear_refs)."""

from __future__ import annotations

import os
from pathlib import Path

from pitstop.machine.kernel_file import read_text, size_bytes, table

_FORGET_PEAK = b"5"


def forget_peak(proc: Path = Path("/proc/self")) -> None:
    """The peak counts from now on; from the start of the process where that is not allowed."""
    try:
        fd = os.open(proc / "clear_refs", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.write(fd, _FORGET_PEAK)
    finally:
        os.close(fd)


def peak_bytes(proc: Path = Path("/proc/self")) -> int:
    """Resident memory at its peak; 0 where the kernel does not show it."""
    return _bytes("VmHWM", proc)


def present_bytes(proc: Path = Path("/proc/self")) -> int:
    """Resident memory now."""
    return _bytes("VmRSS", proc)


def mapped_files_bytes(proc: Path = Path("/proc/self")) -> int:
    """Resident pages of files, libraries most of all; the kernel can read them again."""
    return _bytes("RssFile", proc)


def _bytes(name: str, proc: Path) -> int:
    return size_bytes(table(read_text(proc / "status"), ":"), name) or 0
