"""The files that callbacks are writing: on a resume they go on where they were.

A callback that opens its log in `on_train_begin` empties it there when a run is
resumed, and writes the steps since the cut twice.  So the part of the file up
to the cut is read before `on_train_begin`, and put back behind it.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from pitstop.engine.made_folders import is_moved
from pitstop.keras.packages import kinds


@dataclass(frozen=True)
class KeptFile:
    """A file of a callback as it was at the cut.

    Attributes:
        attribute: the attribute that holds the file object.
        path: the file.
        size_bytes: its size at the cut.
        content: what is left of that part now.
    """

    attribute: str
    path: Path
    size_bytes: int
    content: bytes

    @property
    def missing_bytes(self) -> int:
        """How much of the file the script itself has thrown away."""
        return self.size_bytes - len(self.content)


def capture(callbacks: list[Any]) -> list[dict[str, Any]]:
    """Path and size of every regular file that a callback holds open for writing."""
    found = []
    for callback in callbacks:
        for attribute, value in vars(callback).items():
            if _is_log(value):
                size_bytes = _size_of(value)
                found.append(
                    {
                        "attribute": attribute,
                        "path": str(Path(value.name).absolute()),
                        "size_bytes": size_bytes,
                    }
                )
    return found


def _is_log(value: Any) -> bool:
    if isinstance(value, tf.io.gfile.GFile):
        # The `CSVLogger` of Keras 2 writes one; one of another file system is left alone.
        return value.mode[0] in "aw" and "://" not in str(value.name)
    return (
        isinstance(value, io.IOBase)
        and isinstance(getattr(value, "name", None), str)
        and not value.closed
        and value.writable()
        and value.seekable()
    )


def _size_of(file: Any) -> int:
    """What has been written to a file, and what it goes on from."""
    file.flush()
    is_gfile = isinstance(file, tf.io.gfile.GFile)
    if is_gfile and file.mode[0] == "w" and getattr(file, "_writable_file", None) is None:
        return 0  # the first write empties it
    path = Path(file.name)
    return path.stat().st_size if path.exists() else 0


def _holds(callback: Any, kept: KeptFile) -> bool:
    file: Any = getattr(callback, kept.attribute, None)
    if not _is_log(file):
        return False
    now, before = str(Path(file.name).absolute()), str(kept.path)
    return now == before or is_moved(now, before)


def keep(described: list[dict[str, Any]]) -> list[KeptFile]:
    """Reads the files up to the cut, before a callback can empty them."""
    return [
        KeptFile(
            each["attribute"],
            Path(each["path"]),
            each["size_bytes"],
            _head(each["path"], each["size_bytes"]),
        )
        for each in described
    ]


def _head(path: str, size_bytes: int) -> bytes:
    try:
        # Not a FIFO, which would wait for a writer, and no more than there is.
        if not Path(path).is_file():
            return b""
        with Path(path).open("rb") as file:
            return file.read(max(0, size_bytes))
    except (OSError, ValueError):
        return b""


def put_back(callbacks: list[Any], files: list[KeptFile]) -> None:
    """Makes each file what it was at the cut; what comes next is appended."""
    for kept in files:
        found = (each for each in callbacks if _holds(each, kept))
        callback = next(found, None)
        file: Any = getattr(callback, kept.attribute, None)
        if callback is None:
            continue
        file.flush()
        if isinstance(file, tf.io.gfile.GFile):
            # Nothing has been written to it: the first write opens it.
            Path(file.name).write_bytes(b"")
            file.write(kept.content)
            file.flush()
        else:
            os.ftruncate(file.fileno(), 0)
            os.pwrite(file.fileno(), kept.content, 0)
            file.seek(0, io.SEEK_END)
        if isinstance(callback, kinds("callbacks.CSVLogger")):
            callback.append_header = not kept.content
