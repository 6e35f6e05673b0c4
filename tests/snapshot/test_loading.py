"""Checkpoints come back as their own files, verified and open, or not at all."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from pitstop.errors import CheckpointCorrupt
from pitstop.snapshot.loading import RestoreImage, load
from pitstop.store.manifest import STATE_FILE, TENSORS_FILE
from pitstop.store.reader import read_tensor
from tests.store.samples import save, state_of


def table_of(image: RestoreImage) -> tuple[Any, bytes]:
    """The ranges of each tensor, and the state."""
    size_bytes = os.fstat(image.fds[0]).st_size
    ranges, state = os.pread(image.fds[0], size_bytes, 0).split(b"\n", 1)
    return json.loads(ranges), state


def tensor_of(image: RestoreImage, name: str) -> bytes:
    ranges, _ = table_of(image)
    return b"".join(
        os.pread(image.fds[1 + file], size_bytes, offset_bytes)
        for file, offset_bytes, size_bytes in ranges[name]
    )


def test_a_loaded_checkpoint_outlives_its_folder(tmp_path: Path) -> None:
    path, manifest = save(tmp_path, step=10, sequence=4)
    expected = {name: read_tensor(path, manifest, name) for name in manifest.tensors}
    image = load(path, manifest)
    shutil.rmtree(path)
    ranges, state = table_of(image)
    assert state == state_of(10)
    assert {name: tensor_of(image, name) for name in ranges} == expected
    assert image.ledger.sequence == manifest.sequence
    image.close()


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


def test_closing_leaves_nothing_open(tmp_path: Path) -> None:
    path, manifest = save(tmp_path, step=10, sequence=4)
    before = set(Path("/proc/self/fd").iterdir())
    load(path, manifest).close()
    assert set(Path("/proc/self/fd").iterdir()) == before
