"""From a checkpoint on disk to a slot in memory, verified on the way."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from pitstop.link.beacon import anonymous_file
from pitstop.snapshot import slot
from pitstop.snapshot.arena import nameless_file
from pitstop.store.increment import Ledger, ledger_of
from pitstop.store.manifest import Manifest
from pitstop.store.reader import image_of, read_state, read_tensors


@dataclass(frozen=True)
class LoadedImage:
    """A verified checkpoint in memory.

    Attributes:
        fd: holds one slot; the owner's to close.
        ledger: what the next checkpoint may refer to.
    """

    fd: int
    ledger: Ledger


def load(path: Path, manifest: Manifest, most_bytes: int | None = None) -> LoadedImage:
    """Reads and verifies a checkpoint.

    Args:
        path: the checkpoint's folder.
        manifest: of the checkpoint.
        most_bytes: memory that it may take; a larger one goes to a nameless file
            beside it, whose pages the kernel may drop.  None for any.

    Raises:
        CheckpointCorrupt: a file does not hold what the manifest promises.
    """
    fd = room(path, image_of(manifest).size_bytes, most_bytes)
    try:
        chunks = _fill(fd, path, manifest)
    except BaseException:
        os.close(fd)
        raise
    return LoadedImage(fd, ledger_of(path, manifest, chunks))


def room(path: Path, size_bytes: int, most_bytes: int | None) -> int:
    """Where a checkpoint of so many bytes is loaded to: memory, or a nameless file."""
    if most_bytes is not None and size_bytes > most_bytes:
        # A disk that is full is no reason not to go on.
        with contextlib.suppress(OSError):
            fd = nameless_file(path.parent)
            with contextlib.ExitStack() as unless_reserved:
                unless_reserved.callback(os.close, fd)
                os.posix_fallocate(fd, 0, slot.HEAD_BYTES + size_bytes)
                unless_reserved.pop_all()
                return fd
    return anonymous_file("pitstop-restore")


def _fill(fd: int, path: Path, manifest: Manifest) -> dict[str, bytes]:
    state = read_state(path, manifest)
    image_bytes = image_of(manifest).size_bytes
    os.ftruncate(fd, slot.HEAD_BYTES + image_bytes + len(state))
    os.lseek(fd, slot.HEAD_BYTES, os.SEEK_SET)
    # Written, not mapped: a page that is written whole need not be cleared first.
    chunks = read_tensors(path, manifest, lambda piece: _write_all(fd, piece))
    _write_all(fd, memoryview(state))
    head = slot.SlotHead(manifest.sequence, image_bytes, len(state), manifest.info.step)
    os.pwrite(fd, slot.pack_head(head), 0)
    return chunks


def _write_all(fd: int, data: memoryview) -> None:
    while data:
        data = data[os.write(fd, data) :]
