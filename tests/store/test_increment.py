"""Checkpoints that refer to earlier ones hold what whole ones would hold."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import safetensors
from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop.store import digest, increment
from pitstop.store.digest import StreamHasher
from pitstop.store.image import Image, TensorSpec, plan_image
from pitstop.store.increment import (
    PreviousCheckpoint,
    ledger_of,
    plan_increment,
    plan_whole,
    unchanged_share,
)
from pitstop.store.manifest import MANIFEST_FILE, TENSORS_FILE, decode
from pitstop.store.reader import read_tensor, read_tensors
from pitstop.store.writer import CheckpointWriter
from tests.store.samples import Bytes, info, state_of

CHUNK = 16
SPECS = (
    TensorSpec("base", "F32", (1024,)),
    TensorSpec("embedding", "F32", (64, 8)),
    TensorSpec("head", "F16", (7,)),
    TensorSpec("nothing", "F32", (0, 3)),
    TensorSpec("step", "I64", ()),
)
IMAGE = plan_image(SPECS)


@pytest.fixture(autouse=True, scope="module")
def _small_limits() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digest, "CHUNK_BYTES", CHUNK)
        patch.setattr(increment, "CHUNK_BYTES", CHUNK)
        patch.setattr(increment, "LEAST_KEPT_BYTES", 2 * CHUNK)
        yield


def file_of(value: int) -> bytearray:
    return bytearray(IMAGE.header) + bytearray([value]) * (IMAGE.size_bytes - len(IMAGE.header))


def place_of(name: str) -> slice:
    [place] = [place for place in IMAGE.placements if place.spec.name == name]
    return slice(place.offset_bytes, place.end_bytes)


def chunks_of(image: Image, file: bytes | bytearray) -> dict[str, bytes]:
    hasher = StreamHasher((place.spec.name, place.size_bytes) for place in image.placements)
    hasher.update(memoryview(file)[len(image.header) :])
    hasher.update(memoryview(b""))
    return hasher.chunks


def save(
    folder: Path,
    sequence: int,
    file: bytes | bytearray,
    ledger: PreviousCheckpoint | None,
    image: Image = IMAGE,
) -> PreviousCheckpoint:
    """A checkpoint of this content, which refers to the ledger's; verified."""
    chunks = chunks_of(image, file)
    plan = plan_increment(image, chunks, ledger) if ledger else plan_whole(image)
    with CheckpointWriter(folder, sequence) as writer:
        if ledger:
            assert writer.link(ledger, plan)
        writer.write_tensors(image, Bytes(bytes(file)), plan, chunks)
        path, manifest = writer.commit(state_of(sequence), info(sequence))
    received = bytearray()
    assert read_tensors(path, manifest, received.extend) == chunks
    assert received == file
    assert {each.name for each in path.glob("tensors*")} == {TENSORS_FILE, *plan.links}
    safetensors.deserialize((path / TENSORS_FILE).read_bytes())
    return ledger_of(path, manifest, chunks)


def own_bytes(ledger: PreviousCheckpoint) -> int:
    """Bytes of tensors that the checkpoint wrote itself."""
    own = f"tensors-{ledger.sequence}.safetensors"
    parts = (part for held in ledger.tensors.values() for part in held.entry.parts)
    return sum(part.size_bytes for part in parts if part.file == own)


CHANGES = st.lists(
    st.tuples(st.integers(0, IMAGE.size_bytes - len(IMAGE.header) - 1), st.integers(1, 40)),
    max_size=4,
)


@settings(deadline=None)
@given(st.lists(CHANGES, min_size=1, max_size=12), st.integers(1, 3))
def test_any_history_of_changes_is_read_back_and_old_checkpoints_are_not_needed(
    history: Sequence[list[tuple[int, int]]], keep: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, file, paths = Path(name), file_of(0), []
        ledger = save(folder, 1, file, None)
        paths.append(ledger.folder)
        for sequence, changes in enumerate(history, start=2):
            for at, size in changes:
                start = len(IMAGE.header) + at
                stop = min(start + size, IMAGE.size_bytes)
                file[start:stop] = bytes([sequence]) * (stop - start)
            ledger = save(folder, sequence, file, ledger)
            paths.append(ledger.folder)
            while len(paths) > keep:
                shutil.rmtree(paths.pop(0))
            live = sum(entry.size_bytes for entry in ledger.files.values())
            headers = sum(1024 for _ in ledger.files)
            assert live <= 2 * IMAGE.size_bytes + headers


def test_an_equal_snapshot_writes_no_tensor(tmp_path: Path) -> None:
    first = save(tmp_path, 1, file_of(1), None)
    second = save(tmp_path, 2, file_of(1), first)
    assert own_bytes(second) == 0
    assert list(second.files) == ["tensors-1.safetensors"]


def test_a_frozen_tensor_stays_in_the_first_file_for_ever(tmp_path: Path) -> None:
    file = file_of(1)
    ledger = save(tmp_path, 1, file, None)
    for sequence in range(2, 6):
        file[place_of("embedding")] = bytes([sequence]) * 2048
        ledger = save(tmp_path, sequence, file, ledger)
        assert ledger.files.keys() == {"tensors-1.safetensors", f"tensors-{sequence}.safetensors"}
        assert own_bytes(ledger) == 2048


def test_changed_rows_are_written_and_cold_ones_are_not(tmp_path: Path) -> None:
    file = file_of(1)
    ledger = save(tmp_path, 1, file, None)
    rows = place_of("embedding")
    file[rows.start + 100 : rows.start + 104] = b"\x09" * 4
    ledger = save(tmp_path, 2, file, ledger)
    assert own_bytes(ledger) == CHUNK
    with safetensors.safe_open(ledger.folder / TENSORS_FILE, "np") as own:
        assert list(own.keys()) == ["embedding@96"]


def test_a_tensor_of_another_shape_is_written_again(tmp_path: Path) -> None:
    first = save(tmp_path, 1, file_of(1), None)
    image = plan_image([SPECS[0], TensorSpec("embedding", "F32", (8, 64)), *SPECS[2:]])
    file = bytes(image.header) + bytes([1]) * (image.size_bytes - len(image.header))
    second = save(tmp_path, 2, file, first, image)
    assert own_bytes(second) == 2048


def test_a_file_that_is_mostly_out_of_date_is_not_kept_alive(tmp_path: Path) -> None:
    file = file_of(1)
    first = save(tmp_path, 1, file, None)
    file[place_of("base")] = b"\x02" * 4096
    second = save(tmp_path, 2, file, first)
    assert list(second.files) == ["tensors-2.safetensors"]


def test_a_name_that_looks_like_a_piece_of_another_costs_only_the_saving(tmp_path: Path) -> None:
    image = plan_image([TensorSpec("a", "U8", (1024,)), TensorSpec("a@0", "U8", (64,))])
    file = bytearray(image.header) + bytearray(image.size_bytes - len(image.header))
    first = save(tmp_path, 1, file, None, image)
    file[len(image.header)] = 1
    file[-64:] = b"\x01" * 64
    second = save(tmp_path, 2, file, first, image)
    assert list(second.files) == ["tensors-2.safetensors"]


def test_the_share_of_what_did_not_change(tmp_path: Path) -> None:
    file = file_of(1)
    ledger = save(tmp_path, 1, file, None)
    assert unchanged_share(IMAGE, chunks_of(IMAGE, file), ledger) == 1
    file[place_of("embedding")] = b"\x02" * 2048
    total = IMAGE.size_bytes - len(IMAGE.header)
    assert unchanged_share(IMAGE, chunks_of(IMAGE, file), ledger) == (total - 2048) / total


def test_one_tensor_is_read_from_all_its_files(tmp_path: Path) -> None:
    file = file_of(1)
    first = save(tmp_path, 1, file, None)
    file[place_of("embedding").start] = 7
    second = save(tmp_path, 2, file, first)
    manifest = decode((second.folder / MANIFEST_FILE).read_bytes())
    assert len({part.file for part in manifest.tensors["embedding"].parts}) == 2
    assert read_tensor(second.folder, manifest, "embedding") == file[place_of("embedding")]


def test_a_file_system_without_links_is_told_apart(tmp_path: Path) -> None:
    first = save(tmp_path, 1, file_of(1), None)
    plan = plan_increment(IMAGE, chunks_of(IMAGE, file_of(1)), first)
    shutil.rmtree(first.folder)
    with CheckpointWriter(tmp_path, 2) as writer:
        assert not writer.link(first, plan)


def test_links_that_were_made_before_one_failed_do_not_stay(tmp_path: Path) -> None:
    file = file_of(1)
    first = save(tmp_path, 1, file, None)
    file[place_of("embedding")] = b"\x02" * 2048
    second = save(tmp_path, 2, file, first)
    plan = plan_increment(IMAGE, chunks_of(IMAGE, file), second)
    *_, last = plan.links
    assert len(plan.links) == 2
    second.path_of(last).unlink()
    with CheckpointWriter(tmp_path, 3) as writer:
        assert not writer.link(second, plan)
        writer.write_tensors(IMAGE, Bytes(bytes(file)))
        path, manifest = writer.commit(state_of(3), info(3))
    assert {each.name for each in path.iterdir()} == {MANIFEST_FILE, *manifest.files}
