"""The small files in which the kernel shows its numbers."""

import re
from collections.abc import Mapping
from pathlib import Path

from pitstop.record import Frozen


class Mount(Frozen):
    """A mounted file system; `root` is the part of it that is seen."""

    path: str
    kind: str
    read_only: bool
    root: str = "/"
    super_options: frozenset[str] = frozenset()


def read_text(path: str | Path) -> str:
    """The text of a file of the kernel; empty if it does not exist or may not be read."""
    try:
        with Path(path).open("rb", buffering=0) as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def read_number(path: str | Path) -> int | None:
    """The one number that a file holds; None where it holds a word, or is not there."""
    text = read_text(path).strip()
    return int(text) if text.isdecimal() else None


def table(text: str, separator: str = " ") -> dict[str, str]:
    pairs = (line.partition(separator) for line in text.splitlines())
    return {key: value.strip() for key, found, value in pairs if found}


def size_bytes(fields: Mapping[str, str], name: str) -> int | None:
    """A field such as "1748 kB"; None when it is not there (a process that has ended)."""
    return int(fields[name].split()[0]) << 10 if name in fields else None


def stat_fields(stat: str) -> list[str]:
    """The fields after the name, from the text of /proc/PID/stat (proc(5)); empty for no text."""
    # The name may hold anything, but its closing bracket is the last one.
    return stat.rpartition(")")[2].split()


def mounts(mountinfo: str) -> list[Mount]:
    # id parent major:minor root mountpoint options [optional...] - type source superoptions
    found = []
    for line in mountinfo.splitlines():
        left, separator, right = line.partition(" - ")
        fields, kind = left.split(" "), right.split(" ")
        if separator and len(fields) > 5:
            found.append(
                Mount(
                    path=_unescape(fields[4]),
                    kind=kind[0],
                    read_only="ro" in fields[5].split(","),
                    root=_unescape(fields[3]),
                    super_options=frozenset(kind[-1].split(",")),
                )
            )
    return found


def _unescape(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)
