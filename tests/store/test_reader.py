"""No damage anywhere in a checkpoint is believed, and it is named."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.errors import CheckpointCorrupt, EnvironmentFault
from pitstop.store import reader
from pitstop.store.catalog import Catalog
from pitstop.store.image import plan_image
from pitstop.store.manifest import MANIFEST_FILE, STATE_FILE, TENSORS_FILE, Manifest, encode
from pitstop.store.reader import opened, read_state, read_tensors
from tests.store.samples import SPECS, image_bytes, save

FILES = (MANIFEST_FILE, STATE_FILE, TENSORS_FILE)


@dataclass(frozen=True)
class Specimen:
    """A good checkpoint whose files a test spoils, one at a time."""

    path: Path
    manifest: Manifest

    def reason_when(self, name: str, content: bytes) -> str:
        """What is found wrong when one file has this content."""
        file = self.path / name
        good = file.read_bytes()
        file.write_bytes(content)
        try:
            return self._reason()
        finally:
            file.write_bytes(good)

    def _reason(self) -> str:
        catalog = Catalog(self.path.parent)
        [entry] = catalog.entries()
        with pytest.raises(CheckpointCorrupt) as caught:
            catalog.verify(entry)
        assert str(self.path) in caught.value.message
        return caught.value.reason


@pytest.fixture(scope="module")
def specimen(tmp_path_factory: pytest.TempPathFactory) -> Specimen:
    return Specimen(*save(tmp_path_factory.mktemp("checkpoints"), 5, 1))


@given(st.sampled_from(FILES), st.data())
def test_a_flipped_bit_is_found_and_its_file_or_tensor_named(
    specimen: Specimen, name: str, data: st.DataObject
) -> None:
    content = bytearray((specimen.path / name).read_bytes())
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= 1 << data.draw(st.integers(0, 7))
    reason = specimen.reason_when(name, bytes(content))
    assert _place_of(specimen.manifest, name, position) in reason


def _place_of(manifest: Manifest, name: str, position: int) -> str:
    if name == TENSORS_FILE:
        for tensor, entry in manifest.tensors.items():
            for part in entry.parts:
                if part.offset_bytes <= position < part.offset_bytes + part.size_bytes:
                    return f"tensor {tensor!r}"
    return name


@given(st.sampled_from(FILES), st.data())
def test_a_cut_or_grown_file_is_found_and_named(
    specimen: Specimen, name: str, data: st.DataObject
) -> None:
    content = (specimen.path / name).read_bytes()
    cut = content[: data.draw(st.integers(0, len(content) - 1))]
    assert name in specimen.reason_when(name, cut)
    grown = content + data.draw(st.binary(min_size=1, max_size=9))
    assert name in specimen.reason_when(name, grown)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(("make", "reason"), [(None, "is missing"), (Path.mkdir, "is a folder")])
def test_a_missing_file_is_damage_and_named(
    tmp_path: Path, name: str, make: Callable[[Path], None] | None, reason: str
) -> None:
    path, _ = save(tmp_path, 1, 1)
    (path / name).unlink()
    if make:
        make(path / name)
    catalog = Catalog(tmp_path)
    with pytest.raises(CheckpointCorrupt, match=f"{name} {reason}"):
        catalog.verify(catalog.entries()[0])


def _discard(_piece: memoryview) -> None:
    return


@pytest.mark.parametrize(
    ("name", "read"),
    [
        (STATE_FILE, read_state),
        (TENSORS_FILE, lambda path, manifest: read_tensors(path, manifest, _discard)),
    ],
)
def test_a_manifest_must_name_both_files(
    tmp_path: Path, name: str, read: Callable[[Path, Manifest], object]
) -> None:
    path, manifest = save(tmp_path, 1, 1)
    files = {other: entry for other, entry in manifest.files.items() if other != name}
    lacking = Manifest(manifest.sequence, manifest.info, files, manifest.tensors)
    with pytest.raises(CheckpointCorrupt, match=f"does not list {name}"):
        read(path, lacking)


def test_a_file_larger_than_a_piece_arrives_in_order(
    specimen: Specimen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "PIECE_BYTES", 7)
    received = bytearray()
    read_tensors(specimen.path, specimen.manifest, received.extend)
    assert received == image_bytes(plan_image(SPECS), 5)


def test_a_damaged_tensor_never_reaches_its_end_in_the_sink(specimen: Specimen) -> None:
    copy = specimen.path.parent / "copy"
    shutil.copytree(specimen.path, copy)
    content = bytearray((copy / TENSORS_FILE).read_bytes())
    content[-1] ^= 1
    (copy / TENSORS_FILE).write_bytes(content)
    received = bytearray()
    with pytest.raises(CheckpointCorrupt):
        read_tensors(copy, specimen.manifest, received.extend)
    assert len(received) < len(content)
    shutil.rmtree(copy)


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (errno.EIO, CheckpointCorrupt),
        (errno.EACCES, EnvironmentFault),
        (errno.EMFILE, EnvironmentFault),
    ],
)
def test_only_what_the_disk_lost_is_called_damage(
    specimen: Specimen, number: int, error: type[EnvironmentFault]
) -> None:
    with pytest.raises(EnvironmentFault) as caught, opened(specimen.path, STATE_FILE):
        raise OSError(number, os.strerror(number))
    assert type(caught.value) is error


@pytest.mark.parametrize("name", [spec.name for spec in SPECS])
def test_a_tensor_that_the_manifest_omits_is_found(tmp_path: Path, name: str) -> None:
    path, manifest = save(tmp_path, 1, 1)
    tensors = {other: each for other, each in manifest.tensors.items() if other != name}
    omitting = Manifest(manifest.sequence, manifest.info, manifest.files, tensors)
    (path / MANIFEST_FILE).write_bytes(encode(omitting))
    catalog = Catalog(tmp_path)
    with pytest.raises(CheckpointCorrupt, match=f"does not list '{name}'"):
        catalog.verify(catalog.entries()[0])


def test_a_tensor_that_only_the_manifest_names_is_found(tmp_path: Path) -> None:
    path, manifest = save(tmp_path, 1, 1)
    kernel = manifest.tensors["kernel"]
    [part] = kernel.parts
    parts = (replace(part, size_bytes=40), replace(part, offset_bytes=part.offset_bytes + 40))
    tensors = {**manifest.tensors, "more": replace(kernel, parts=parts)}
    adding = Manifest(manifest.sequence, manifest.info, manifest.files, tensors)
    with pytest.raises(CheckpointCorrupt, match="lacks tensors that its manifest lists"):
        read_tensors(path, adding, _discard)
