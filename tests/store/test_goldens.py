"""A run written by the first version of the format stays readable."""

from __future__ import annotations

from pathlib import Path

import pytest
import safetensors

from pitstop import events, journal
from pitstop.store.catalog import Catalog
from pitstop.store.image import DTYPE_WIDTH_BYTES, parse_image
from pitstop.store.manifest import MANIFEST_FILE, CheckpointInfo, encode
from pitstop.store.reader import read_state, read_tensors
from pitstop.store.run_folder import RunFolder, open_existing


@pytest.fixture
def run() -> RunFolder:
    return open_existing(Path(__file__).parents[1] / "goldens" / "format-1")


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


def test_the_checkpoint_is_good_and_every_byte_is_the_one_written(run: RunFolder) -> None:
    catalog = Catalog(run.checkpoints)
    [entry] = catalog.entries()
    manifest = catalog.verify(entry)
    assert read_state(entry.path, manifest) == b'{"position": {"step": 7}}\n'
    received = bytearray()
    read_tensors(entry.path, manifest, received.extend)
    image = parse_image(bytes(received))
    data = received[len(image.header) :]
    assert data == bytes(index % 251 for index in range(len(data)))
    assert dict(safetensors.deserialize(bytes(received))).keys() == manifest.tensors.keys()
    assert {tensor.dtype for tensor in manifest.tensors.values()} == set(DTYPE_WIDTH_BYTES)


def test_the_manifest_is_read_and_would_be_written_the_same(run: RunFolder) -> None:
    [entry] = Catalog(run.checkpoints).entries()
    assert entry.manifest is not None
    assert entry.manifest.sequence == 3
    assert entry.manifest.info == CheckpointInfo(
        step=7,
        epoch=1,
        step_in_epoch=2,
        fit=0,
        milestone="",
        attempt=1,
        reason="cadence",
        level="exact",
        created_seconds=1764000012.5,
        versions={"keras": "3.15.0", "tensorflow": "2.21.0"},
    )
    assert encode(entry.manifest) == (entry.path / MANIFEST_FILE).read_bytes()
