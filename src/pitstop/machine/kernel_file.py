"""The small files in which the kernel shows its numbers."""

from __future__ import annotations

import os
from pathlib import Path

_READ_BYTES = 1 << 16


def read_text(path: str | Path) -> str:
    """What a file of the kernel holds; empty when it is not there, or not for us.

    A process or a cgroup may go away between two reads: that is "not there" too.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        chunks = []
        while chunk := os.read(fd, _READ_BYTES):
            chunks.append(chunk)
    except OSError:
        return ""
    finally:
        os.close(fd)
    return b"".join(chunks).decode(errors="replace")


def read_number(path: str | Path) -> int | None:
    """The one number that a file holds; None where it holds a word, or is not there."""
    text = read_text(path).strip()
    return int(text) if text.isdecimal() else None


def table(text: str, separator: str = " ") -> dict[str, str]:
    """Lines of a key and a value, by key."""
    pairs = (line.partition(separator) for line in text.splitlines())
    return {key: value.strip() for key, found, value in pairs if found}
