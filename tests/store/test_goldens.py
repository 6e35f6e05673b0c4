"""Runs written by earlier versions of the format stay readable, and the present one, too."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import safetensors

from pitstop import events, journal
from pitstop.errors import CheckpointCorrupt
from pitstop.store.catalog import Catalog
from pitstop.store.image import DTYPE_WIDTH_BYTES
from pitstop.store.manifest import MANIFEST_FILE, encode
from pitstop.store.reader import read_tensor, read_tensors
from pitstop.store.run_folder import RunFolder, open_existing

GOLDENS = Path(__file__).parents[1] / "goldens"


@pytest.fixture
def run() -> RunFolder:
    return open_existing(GOLDENS / "format-2")


def test_the_identity_is_read(run: RunFolder) -> None:
    assert run.identity.run_id == "5f0c6a1e9d3b4c7f8a2e1d0b9c8f7a6e"
    assert run.identity.command == ("python", "train.py")
    assert run.identity.cwd == "/home/ada/digits"
    assert run.identity.created_seconds == 1764000000.25


def test_the_journal_is_read(run: RunFolder) -> None:
    text = journal.read(run.journal)
    kinds = [type(entry.event) for entry in text.entries]
    assert kinds == [events.AttemptStarted, events.CheckpointCommitted, events.AttemptEnded]
    assert text.damaged_lines == 0


def test_a_checkpoint_is_put_together_from_its_files(run: RunFolder) -> None:
    catalog = Catalog(run.checkpoints)
    [entry] = catalog.entries()
    manifest = catalog.verify(entry)
    assert (manifest.sequence, manifest.info.name) == (4, "before-lr-change")
    assert encode(manifest) == (entry.path / MANIFEST_FILE).read_bytes()
    assert read_tensor(entry.path, manifest, "trained") == bytes(range(16))
    assert read_tensor(entry.path, manifest, "table") == bytes(262144) + b"\1" * 10
    received = bytearray()
    read_tensors(entry.path, manifest, received.extend)
    tensors = dict(safetensors.deserialize(bytes(received)))
    assert tensors.keys() == manifest.tensors.keys()
    assert {tensor["dtype"] for tensor in tensors.values()} == set(DTYPE_WIDTH_BYTES)


def test_damage_in_a_shared_file_is_found(tmp_path: Path) -> None:
    shutil.copytree(GOLDENS / "format-2" / "checkpoints", tmp_path, dirs_exist_ok=True)
    [entry] = Catalog(tmp_path).entries()
    shared = entry.path / "tensors-3.safetensors"
    content = bytearray(shared.read_bytes())
    content[1598 + 1000] ^= 1
    shared.write_bytes(content)
    with pytest.raises(CheckpointCorrupt, match="tensor 'table' does not match"):
        Catalog(tmp_path).verify(entry)
