"""The manifest: readable, the same bytes for the same content, and sealed."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_hexdigest

from pitstop.errors import FormatTooNew
from pitstop.store.image import DTYPE_WIDTH_BYTES
from pitstop.store.manifest import (
    CheckpointInfo,
    FileEntry,
    Manifest,
    Part,
    TensorEntry,
    decode,
    encode,
)
from tests.store.samples import SHAPES, info

COUNTS = st.integers(0, 2**60)
DIGESTS = st.from_regex(r"[0-9a-f]{16}", fullmatch=True)
TEXTS = st.text(max_size=8)
FILES = st.from_regex(r"[a-z][a-z0-9.-]{0,8}", fullmatch=True)


WORDS = st.from_regex(r"[a-z_]{0,8}", fullmatch=True)


def _entry(dtype: str, shape: tuple[int, ...], digest: str, file: str, at: int) -> TensorEntry:
    size_bytes = math.prod(shape) * DTYPE_WIDTH_BYTES[dtype]
    half_bytes = size_bytes // 2
    parts = (Part(file, at, half_bytes), Part("other", at, size_bytes - half_bytes))
    return TensorEntry(dtype, shape, size_bytes, digest, parts)


MANIFESTS = st.builds(
    Manifest,
    COUNTS,
    st.builds(
        CheckpointInfo,
        COUNTS,
        COUNTS,
        COUNTS,
        COUNTS,
        st.sampled_from(["", "fit_end"]),
        COUNTS,
        WORDS,
        WORDS,
        st.floats(0, 1e11),
        st.dictionaries(TEXTS, TEXTS, max_size=3),
        st.from_regex(r"([a-z][a-z0-9._-]{0,9})?", fullmatch=True),
        st.dictionaries(TEXTS, st.floats(allow_nan=False, allow_infinity=False), max_size=3),
    ),
    st.dictionaries(FILES, st.builds(FileEntry, COUNTS, DIGESTS), max_size=3),
    st.dictionaries(
        TEXTS,
        st.builds(_entry, st.sampled_from(list(DTYPE_WIDTH_BYTES)), SHAPES, DIGESTS, FILES, COUNTS),
        max_size=3,
    ),
)
SAMPLE = Manifest(
    7,
    info(1234),
    {"state.json": FileEntry(5, "0" * 16)},
    {"kernel": TensorEntry("F32", (2, 3), 24, "f" * 16, (Part("tensors.safetensors", 64, 24),))},
)

ENTRY = {"dtype": "U8", "shape": [5], "xxh3_64": "f" * 16}


def sealed(record: dict[str, Any]) -> bytes:
    """A manifest of this content with a checksum that holds."""
    body = json.dumps(record)[:-1].encode()
    return body + f',\n  "xxh3_64": "{xxh3_64_hexdigest(body)}"\n}}\n'.encode()


def sample_record() -> dict[str, Any]:
    record: dict[str, Any] = json.loads(encode(SAMPLE))
    del record["xxh3_64"]
    return record


@given(MANIFESTS)
def test_decoding_gives_what_was_encoded(manifest: Manifest) -> None:
    assert decode(encode(manifest)) == manifest


def test_equal_manifests_give_equal_bytes() -> None:
    two = {"a": FileEntry(1, "1" * 16), "b": FileEntry(2, "2" * 16)}
    other_order = dict(reversed(two.items()))
    assert encode(replace(SAMPLE, files=two)) == encode(replace(SAMPLE, files=other_order))


def test_a_person_can_read_it_one_tensor_per_line() -> None:
    lines = encode(SAMPLE).decode().splitlines()
    [line] = [line for line in lines if "kernel" in line]
    assert re.search(r'"dtype": "F32", "shape": \[2, 3\]', line)
    assert json.loads(encode(SAMPLE))["info"]["step"] == 1234


def test_every_flipped_bit_is_noticed() -> None:
    good = encode(SAMPLE)
    for position in range(len(good)):
        damaged = bytearray(good)
        damaged[position] ^= 1 << position % 8
        with pytest.raises(ValueError, match="checksum"):
            decode(bytes(damaged))


def test_every_truncation_is_noticed() -> None:
    good = encode(SAMPLE)
    for size in range(len(good)):
        with pytest.raises(ValueError, match="checksum"):
            decode(good[:size])


def test_a_newer_format_is_not_taken_for_damage() -> None:
    with pytest.raises(FormatTooNew, match="version 3"):
        decode(sealed({**sample_record(), "version": 3}))


def test_unknown_members_are_ignored() -> None:
    record = sample_record()
    record["later"] = 1
    record["info"]["later"] = [2]
    record["tensors"]["kernel"]["later"] = {}
    assert decode(sealed(record)) == SAMPLE


@pytest.mark.parametrize(
    ("member", "value", "reason"),
    [
        ("format", "else", "its format is not"),
        ("version", 0, "version 0"),
        ("version", "1", "version '1'"),
        ("sequence", None, "sequence"),
        ("sequence", True, "sequence"),
        ("info", {}, "info.step"),
        ("info", [], "info"),
        ("files", None, "files"),
        ("files", {"state.json": 7}, "state.json"),
        ("tensors", {"a": {}}, "a.dtype"),
        ("tensors", {"a": {"parts": []}, "size_bytes": 0}, "a"),
        ("tensors", {"a": {**ENTRY, "parts": [["f", 0, -1]], "size_bytes": -1}}, "a.parts"),
        ("tensors", {"a": {**ENTRY, "parts": [["f", 0, 4]], "size_bytes": 5}}, "the parts of 'a'"),
        ("tensors", {"a": {"parts": [], "size_bytes": 0, "shape": []}}, "a.dtype"),
        (
            "tensors",
            {"a": {"parts": [], "size_bytes": 0, "dtype": "F32", "shape": ["2"]}},
            "a.shape",
        ),
    ],
)
def test_sealed_nonsense_is_refused_by_member(member: str, value: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        decode(sealed({**sample_record(), member: value}))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("sequence",), -1),
        (("info", "step"), -5),
        (("info", "step"), 1 << 64),
        (("info", "created_seconds"), 10**400),
        (("info", "created_seconds"), float("inf")),
        (("info", "level"), "\x1b[31m"),
        (("info", "name"), "../x"),
        (("info", "metrics"), {"val_loss": float("inf")}),
        (("files", "state.json", "size_bytes"), -1),
        (("files", "state.json", "xxh3_64"), "x"),
        (("tensors", "kernel", "dtype"), "F99"),
        (("tensors", "kernel", "shape"), [-2, -3]),
        (("tensors", "kernel", "shape"), [2, 2]),
        (("tensors", "kernel", "xxh3_64"), "F" * 16),
    ],
)
def test_what_cannot_be_true_is_damage_whoever_sealed_it(
    place: tuple[str, ...], value: Any
) -> None:
    record = sample_record()
    inner = record
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    with pytest.raises(ValueError, match=r"cannot be|has"):
        decode(sealed(record))


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/b", "", ".", "..", ".hidden", "a\0b"])
def test_a_file_outside_of_the_folder_is_none_of_a_checkpoint(name: str) -> None:
    listed = replace(SAMPLE, files={**SAMPLE.files, name: FileEntry(5, "0" * 16)})
    with pytest.raises(ValueError, match="names a file"):
        decode(encode(listed))
    entry = replace(SAMPLE.tensors["kernel"], parts=(Part(name, 64, 24),))
    with pytest.raises(ValueError, match="names a file"):
        decode(encode(replace(SAMPLE, tensors={"kernel": entry})))
