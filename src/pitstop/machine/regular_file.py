"""Opening a file that must be one: a FIFO in its place would be waited for without end."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


class NoRegularFile(OSError):
    """Something else lies at the path: a FIFO, a socket, a device."""


def open_regular(path: Path, buffering: int = -1) -> BinaryIO:
    """The file, for reading; an `OSError` else, `NoRegularFile` where it is none."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(fd, "rb", buffering)
    os.close(fd)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise NoRegularFile(errno.EINVAL, "it is not a regular file", str(path))


def read_regular(path: Path) -> bytes:
    """Its whole content; raises as `open_regular`."""
    with open_regular(path) as file:
        return file.read()
