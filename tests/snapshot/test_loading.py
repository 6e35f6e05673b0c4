"""Checkpoints come back as slots, byte for byte, or not at all."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from pitstop.errors import CheckpointCorrupt
from pitstop.snapshot import slot
from pitstop.snapshot.loading import load, room
from pitstop.store.manifest import STATE_FILE, TENSORS_FILE
from tests.store.samples import lowered, save, state_of


def test_a_loaded_checkpoint_is_a_whole_slot(tmp_path: Path) -> None:
    path, manifest = save(tmp_path, step=10, sequence=4)
    loaded = load(path, manifest)
    head = slot.read_head(loaded.fd, 0)
    assert head is not None
    assert (head.sequence, head.step) == (4, 10)
    assert os.fstat(loaded.fd).st_size == head.size_bytes
    tensors = (path / TENSORS_FILE).read_bytes()
    assert os.pread(loaded.fd, head.image_bytes, slot.HEAD_BYTES) == tensors
    state_at = slot.HEAD_BYTES + head.image_bytes
    assert os.pread(loaded.fd, head.state_bytes, state_at) == state_of(10)
    assert loaded.ledger.sequence == manifest.sequence
    os.close(loaded.fd)


@pytest.mark.parametrize("name", [TENSORS_FILE, STATE_FILE])
def test_a_damaged_checkpoint_is_refused_and_nothing_stays_open(tmp_path: Path, name: str) -> None:
    path, manifest = save(tmp_path, step=10, sequence=4)
    data = bytearray((path / name).read_bytes())
    data[-1] ^= 1
    (path / name).write_bytes(data)
    before = set(Path("/proc/self/fd").iterdir())
    with pytest.raises(CheckpointCorrupt, match=str(path)):
        load(path, manifest)
    assert set(Path("/proc/self/fd").iterdir()) == before


def test_a_checkpoint_that_memory_does_not_hold_goes_to_a_file(tmp_path: Path) -> None:
    path, manifest = save(tmp_path, step=10, sequence=4)
    in_memory = load(path, manifest, most_bytes=1 << 20)
    on_disk = load(path, manifest, most_bytes=10)
    assert os.fstat(in_memory.fd).st_dev != tmp_path.stat().st_dev
    assert os.fstat(on_disk.fd).st_dev == tmp_path.stat().st_dev
    assert os.fstat(on_disk.fd).st_nlink == 0
    size_bytes = os.fstat(in_memory.fd).st_size
    assert os.pread(on_disk.fd, size_bytes, 0) == os.pread(in_memory.fd, size_bytes, 0)
    os.close(in_memory.fd)
    os.close(on_disk.fd)


def test_a_disk_that_is_full_does_not_keep_it_from_being_loaded(tmp_path: Path) -> None:
    before = set(Path("/proc/self/fd").iterdir())
    with lowered(resource.RLIMIT_FSIZE, 1 << 16):
        fd = room(tmp_path / "00000010", 1 << 20, most_bytes=10)
    assert os.fstat(fd).st_dev != tmp_path.stat().st_dev
    os.close(fd)
    assert set(Path("/proc/self/fd").iterdir()) == before
