"""From a checkpoint on disk to a slot in memory, verified on the way."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pitstop.link.beacon import anonymous_file
from pitstop.snapshot import slot
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


def load(path: Path, manifest: Manifest) -> LoadedImage:
    """Reads and verifies a checkpoint.

    Raises:
        CheckpointCorrupt: a file does not hold what the manifest promises.
    """
    fd = anonymous_file("pitstop-restore")
    try:
        chunks = _fill(fd, path, manifest)
    except BaseException:
        os.close(fd)
        raise
    return LoadedImage(fd, ledger_of(path, manifest, chunks))


def _fill(fd: int, path: Path, manifest: Manifest) -> dict[str, bytes]:
    state = read_state(path, manifest)
    image_bytes = image_of(manifest).size_bytes
    os.ftruncate(fd, slot.HEAD_BYTES + image_bytes + len(state))
    os.lseek(fd, slot.HEAD_BYTES, os.SEEK_SET)
    chunks = read_tensors(path, manifest, lambda piece: _write_all(fd, piece))
    _write_all(fd, memoryview(state))
    head = slot.SlotHead(manifest.sequence, image_bytes, len(state), manifest.info.step)
    os.pwrite(fd, slot.pack_head(head), 0)
    return chunks


def _write_all(fd: int, data: memoryview) -> None:
    while data:
        data = data[os.write(fd, data) :]
