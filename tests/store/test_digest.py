"""Checksums chunk by chunk, however the stream is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_digest, xxh3_64_hexdigest

from pitstop.store import digest
from pitstop.store.digest import ChunkHasher, StreamHasher, checksum
from tests.store.samples import cut

CHUNK = 8
CUTS = st.lists(st.integers(0, 20), max_size=8)


@pytest.fixture(autouse=True, scope="module")
def _small_chunks() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digest, "CHUNK_BYTES", CHUNK)
        yield


def chunks_of(data: bytes) -> bytes:
    return b"".join(
        xxh3_64_digest(data[start : start + CHUNK]) for start in range(0, len(data), CHUNK)
    )


@given(st.binary(max_size=60), CUTS)
def test_any_cut_gives_the_digests_of_the_chunks(data: bytes, cuts: list[int]) -> None:
    hasher = ChunkHasher()
    for piece in cut(data, cuts):
        hasher.update(piece)
    assert hasher.finish() == chunks_of(data)


@given(st.lists(st.binary(max_size=20), max_size=5), CUTS)
def test_tensors_that_follow_one_another_are_told_apart(
    tensors: list[bytes], cuts: list[int]
) -> None:
    hasher = StreamHasher((str(index), len(data)) for index, data in enumerate(tensors))
    for piece in cut(b"".join(tensors), cuts):
        hasher.update(piece)
    hasher.update(memoryview(b""))
    assert hasher.chunks == {str(index): chunks_of(data) for index, data in enumerate(tensors)}


def test_a_checksum_is_the_hash_of_the_digests() -> None:
    assert checksum(chunks_of(b"0123456789")) == xxh3_64_hexdigest(
        xxh3_64_digest(b"01234567") + xxh3_64_digest(b"89")
    )


def test_bytes_of_no_tensor_are_refused() -> None:
    with pytest.raises(ValueError, match="3 bytes belong to no tensor"):
        StreamHasher([("a", 2)]).update(memoryview(b"12345"))
