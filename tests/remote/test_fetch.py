"""A mirror follows a folder, and makes another one like it."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from pitstop.events import CheckpointUploaded, Event, Notice
from pitstop.journal import Journal
from pitstop.remote.copies import read_checkpoints
from pitstop.remote.fetch import fetch_run
from pitstop.remote.mirror import Mirror
from pitstop.remote.plan import checkpoint_of
from pitstop.remote.storage import Storage
from pitstop.store.catalog import Catalog
from pitstop.store.image import TensorSpec
from pitstop.store.run_folder import RunFolder, open_or_create
from tests.store.samples import SPECS, save, save_increment

# Large enough to be shared by the checkpoint that does not change it.
_SPECS = (*SPECS, TensorSpec("table", "F32", (1 << 19,)))


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(f"file://{tmp_path}/mirror")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run with a checkpoint, another that shares bytes with it, and records of an attempt."""
    folder = open_or_create(tmp_path / "run", ["train"], tmp_path)
    save(folder.checkpoints, 10, sequence=1, specs=_SPECS)
    save_increment(folder.checkpoints, 20, sequence=2, specs=_SPECS)
    folder.next_attempt()
    folder.output_log(1).write_text("Epoch 1\n")
    with Journal(folder.journal, 1) as journal:
        journal.append(Notice("code", "message"))
    return folder


def _update(storage: Storage, folder: RunFolder) -> list[Event]:
    told: list[Event] = []
    assert Mirror(storage, folder.path, told.append).update(lambda: True)
    return told


def _paths(storage: Storage) -> list[Path]:
    folder = Path(storage.url.removeprefix("file://"))
    return [path for path in folder.rglob("*") if path.is_file()]


def _files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_a_folder_survives_the_mirror(storage: Storage, folder: RunFolder, tmp_path: Path) -> None:
    told = _update(storage, folder)
    assert [type(each) for each in told] == [CheckpointUploaded, CheckpointUploaded]
    found = fetch_run(storage, tmp_path / "copy", pytest.fail)
    assert [each.sequence for each in found] == [2, 1]
    assert _files(tmp_path / "copy") == _files(folder.path)
    tensors = (tmp_path / "copy").rglob("*.safetensors")
    links = Counter(path.stat().st_ino for path in tensors)
    assert sorted(links.values()) == [1, 2]


def test_what_was_fetched_is_on_the_disk_before_it_has_its_name(
    storage: Storage, folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _update(storage, folder)
    synced: set[tuple[int, int]] = set()
    fsync = os.fsync

    def note(fd: int) -> None:
        state = os.fstat(fd)
        synced.add((state.st_dev, state.st_ino))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", note)
    fetch_run(storage, tmp_path / "copy", pytest.fail)
    states = {path: path.stat() for path in (tmp_path / "copy").rglob("*")}
    unsynced = [
        path for path, state in states.items() if (state.st_dev, state.st_ino) not in synced
    ]
    assert not [path for path in unsynced if path.is_file()]
    assert not [path for path in unsynced if path.parent.name == "checkpoints"]


def test_an_update_of_what_is_there_sends_nothing(storage: Storage, folder: RunFolder) -> None:
    _update(storage, folder)
    before = {path: path.stat().st_mtime_ns for path in _paths(storage)}
    assert not _update(storage, folder)
    assert {path: path.stat().st_mtime_ns for path in _paths(storage)} == before


def test_what_is_pruned_here_is_removed_there(storage: Storage, folder: RunFolder) -> None:
    _update(storage, folder)
    newest, before = read_checkpoints(folder.path)
    assert len([key for key in storage.sizes() if key.endswith(".safetensors")]) == 2
    shutil.rmtree(newest.manifest.path.parent)
    _update(storage, folder)
    names = {checkpoint_of(key) for key in storage.sizes()} - {None}
    assert names == {before.name}
    tensors = [key for key in storage.sizes() if key.endswith(".safetensors")]
    assert len(tensors) == 1


def test_a_pass_that_is_not_wanted_sends_nothing(storage: Storage, folder: RunFolder) -> None:
    told: list[Event] = []
    mirror = Mirror(storage, folder.path, told.append)
    assert not mirror.update(lambda: False)
    assert not told
    assert len(mirror.missing()) == 4  # two checkpoints, the journal, the output
    assert not storage.sizes()


def test_a_damaged_checkpoint_is_left_out(
    storage: Storage, folder: RunFolder, tmp_path: Path
) -> None:
    _update(storage, folder)
    newest = read_checkpoints(folder.path)[0]
    key = next(key for key in newest.files if key.endswith("tensors-2.safetensors"))
    data = bytearray(storage.read(key) or b"")
    data[-1] ^= 1
    storage.write(key, bytes(data))
    said: list[str] = []
    found = fetch_run(storage, tmp_path / "copy", said.append)
    assert [each.sequence for each in found] == [1]
    assert f"checkpoint {newest.name} in {storage.url}: " in said[0]
    assert len(Catalog(tmp_path / "copy" / "checkpoints").entries()) == 1
