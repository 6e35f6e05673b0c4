"""File operations for durable writing; tests record them to rebuild the disk after a power cut."""

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

BLOCK_BYTES = 4096
"""What lengths and offsets of a write past the cache are multiples of: no disk in use has more."""


class Filesystem:
    """The operating system's files; every operation raises OSError on failure."""

    def make_dir(self, path: Path) -> None:
        path.mkdir()

    def create(self, path: Path) -> int:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)

    def allocate(self, fd: int, size_bytes: int) -> None:
        """Reserves disk space, so that a full disk is noticed before the work."""
        if size_bytes:
            os.posix_fallocate(fd, 0, size_bytes)

    def write(self, fd: int, data: memoryview) -> None:
        while data:
            data = data[os.write(fd, data) :]

    def write_past_cache(self, fd: int, data: memoryview) -> None:
        """Appends all of `data`, straight to the disk where the file system can.

        Twice as fast as through the page cache, which counts against the job's memory limit.
        `data` begins at a page of memory; only the last call for a file may have a length that is
        not a multiple of `BLOCK_BYTES`.  What is refused (tmpfs, some of FUSE) goes the usual way.
        """
        straight = data[: len(data) - len(data) % BLOCK_BYTES]
        if straight and set_direct(fd, direct=True):
            try:
                while straight:
                    straight = straight[os.write(fd, straight) :]
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
            finally:
                set_direct(fd, direct=False)
            data = data[len(data) - len(data) % BLOCK_BYTES - len(straight) :]
        position_bytes, size_bytes = os.lseek(fd, 0, os.SEEK_CUR), len(data)
        Filesystem.write(self, fd, data)
        # On Linux this advice queues dirty pages for writing at once (mm/fadvise.c),
        # so that the final `sync_file` waits for little.
        os.posix_fadvise(fd, position_bytes, size_bytes, os.POSIX_FADV_DONTNEED)

    def link(self, source: Path, target: Path) -> None:
        target.hardlink_to(source)

    def sync_file(self, fd: int) -> None:
        os.fsync(fd)

    def close(self, fd: int) -> None:
        os.close(fd)

    def sync_dir(self, path: Path) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def rename(self, source: Path, target: Path) -> None:
        source.rename(target)

    def remove_tree(self, path: Path) -> None:
        shutil.rmtree(path, ignore_errors=True)


def set_direct(fd: int, *, direct: bool) -> bool:
    """Turns O_DIRECT on or off for a descriptor; whether the file system took it."""
    flags = fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_DIRECT
    try:
        fcntl.fcntl(fd, fcntl.F_SETFL, flags | (os.O_DIRECT if direct else 0))
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return False
    return True


def read_fully(fd: int, target: memoryview, offset_bytes: int) -> int:
    """Fills `target` with the bytes of a file from an offset on; how many there are."""
    done = 0
    while done < len(target) and (count := os.preadv(fd, [target[done:]], offset_bytes + done)):
        done += count
    return done


REAL_FILESYSTEM = Filesystem()  # the one used everywhere but in tests


@contextlib.contextmanager
def created_file(filesystem: Filesystem, path: Path) -> Iterator[int]:
    """A new file's descriptor; on a normal exit its content is on the disk."""
    fd = filesystem.create(path)
    try:
        yield fd
        filesystem.sync_file(fd)
    finally:
        filesystem.close(fd)


def replace_file(path: Path, data: bytes, filesystem: Filesystem = REAL_FILESYSTEM) -> None:
    """Gives a file new content in one step; after an `OSError` the old content stays."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    try:
        with created_file(filesystem, temporary) as fd:
            filesystem.write(fd, memoryview(data))
        filesystem.rename(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    filesystem.sync_dir(path.parent)
