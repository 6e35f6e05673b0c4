"""From a checkpoint on disk to a slot in memory, verified on the way."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pitstop.link.beacon import anonymous_file
from pitstop.snapshot import slot
from pitstop.store.manifest import TENSORS_FILE, Manifest
from pitstop.store.reader import read_state, read_tensors


@dataclass(frozen=True)
class LoadedImage:
    """A verified checkpoint in memory.  `fd` holds one slot and is the owner's to close."""

    fd: int
    manifest: Manifest


def load(path: Path, manifest: Manifest) -> LoadedImage:
    """Reads and verifies a checkpoint.

    Raises:
        CheckpointCorrupt: a file does not hold what the manifest promises.
    """
    fd = anonymous_file("pitstop-restore")
    try:
        _fill(fd, path, manifest)
    except BaseException:
        os.close(fd)
        raise
    return LoadedImage(fd, manifest)


def _fill(fd: int, path: Path, manifest: Manifest) -> None:
    state = read_state(path, manifest)
    image_bytes = manifest.files[TENSORS_FILE].size_bytes
    os.ftruncate(fd, slot.HEAD_BYTES + image_bytes + len(state))
    os.lseek(fd, slot.HEAD_BYTES, os.SEEK_SET)
    read_tensors(path, manifest, lambda piece: _write_all(fd, piece))
    _write_all(fd, memoryview(state))
    head = slot.SlotHead(manifest.sequence, image_bytes, len(state), manifest.info.step)
    os.pwrite(fd, slot.pack_head(head), 0)


def _write_all(fd: int, data: memoryview) -> None:
    while data:
        data = data[os.write(fd, data) :]
