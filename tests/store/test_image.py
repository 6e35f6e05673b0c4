"""The tensors file's layout: what we plan, the safetensors library reads."""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any

import pytest
import safetensors
from hypothesis import given
from hypothesis import strategies as st

from pitstop.errors import InternalFault
from pitstop.store.image import (
    DATA_ALIGNMENT_BYTES,
    DTYPE_CODES,
    DTYPE_NAMES,
    DTYPE_WIDTH_BYTES,
    TensorSpec,
    parse_image,
    plan_image,
)
from tests.store.samples import EVERY_DTYPE, SPEC_LISTS, image_bytes

METADATA = st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3)


@given(SPEC_LISTS, METADATA)
def test_parsing_gives_what_was_planned(specs: list[TensorSpec], metadata: dict[str, str]) -> None:
    image = plan_image(specs, metadata)
    assert parse_image(image.header) == image
    assert {place.spec for place in image.placements} == set(specs)


@given(SPEC_LISTS, METADATA)
def test_the_safetensors_library_reads_the_same_bytes(
    specs: list[TensorSpec], metadata: dict[str, str]
) -> None:
    image = plan_image(specs, metadata)
    data = image_bytes(image)
    read = dict(safetensors.deserialize(data))
    assert read == {
        place.spec.name: {
            "dtype": place.spec.dtype,
            "shape": list(place.spec.shape),
            "data": data[place.offset_bytes : place.end_bytes],
        }
        for place in image.placements
    }


@given(SPEC_LISTS)
def test_every_tensor_is_aligned_to_its_element_and_nothing_is_lost(
    specs: list[TensorSpec],
) -> None:
    image = plan_image(specs)
    assert len(image.header) % DATA_ALIGNMENT_BYTES == 0
    expected = len(image.header)
    for place in image.placements:
        assert place.offset_bytes == expected
        assert place.offset_bytes % DTYPE_WIDTH_BYTES[place.spec.dtype] == 0
        expected = place.end_bytes
    assert image.size_bytes == expected


@pytest.mark.parametrize("dtype", EVERY_DTYPE)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_every_dtype_is_one_of_the_library_s(dtype: str, shape: tuple[int, ...]) -> None:
    image = plan_image([TensorSpec("t", dtype, shape)])
    [(_, tensor)] = safetensors.deserialize(image_bytes(image))
    assert (tensor["dtype"], len(tensor["data"])) == (dtype, image.placements[0].size_bytes)


def test_wide_tensors_come_first_and_equals_keep_their_order() -> None:
    specs = [
        TensorSpec("b", "U8", (1,)),
        TensorSpec("z", "F32", (1,)),
        TensorSpec("a", "I32", (1,)),
        TensorSpec("w", "F64", (1,)),
    ]
    assert [place.spec.name for place in plan_image(specs).placements] == ["w", "z", "a", "b"]


@pytest.mark.parametrize(
    ("specs", "reason"),
    [
        ([TensorSpec("a", "F32", ()), TensorSpec("a", "I8", ())], "used twice"),
        ([TensorSpec("__metadata__", "F32", ())], "cannot be stored"),
        ([TensorSpec("\ud800", "F32", ())], "cannot be stored"),
        ([TensorSpec("a", "F31", ())], "unknown"),
        ([TensorSpec("a", "F32", (2, -1))], "not a shape"),
    ],
)
def test_impossible_tensors_are_a_fault_of_ours(specs: list[TensorSpec], reason: str) -> None:
    with pytest.raises(InternalFault, match=reason):
        plan_image(specs)


def _file(header: Any) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text


def _tensor(shape: Any, start: Any, end: Any, dtype: Any = "U8") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\0\0\0", "length is cut"),
        ((200_000_000).to_bytes(8, "little"), "claims 200000000"),
        (_file({})[:-1], "header is cut"),
        (_file(b"{nonsense}"), "Expecting"),
        (_file(b"\xff\xfe"), "decode"),
        (_file(b"[" * 100_000), "nested"),
        (_file([1]), "not a JSON object"),
        (_file(b'{"a":1,"a":1}'), "twice"),
        (_file({"__metadata__": {"a": 1}}), "metadata"),
        (_file({"a": 7}), "has no dtype"),
        (_file({"a": _tensor([1], 0, 1, "X9")}), "unknown dtype"),
        (_file({"a": _tensor([1], 0, 1, ["U8"])}), "unknown dtype"),
        (_file({"a": _tensor([-1], 0, 1)}), "no shape"),
        (_file({"a": _tensor([True], 0, 1)}), "no shape"),
        (_file({"a": _tensor([1], 1, 0)}), "no place"),
        (_file({"a": _tensor([1], 0, None)}), "no place"),
        (_file({"a": _tensor([2], 0, 1)}), "has 1 bytes for"),
        (_file({"a": _tensor([1], 1, 2)}), "gap or overlaps"),
        (_file({"a": _tensor([2], 0, 2), "b": _tensor([2], 1, 3)}), "gap or overlaps"),
    ],
)
def test_a_malformed_header_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_image(data)


@given(SPEC_LISTS, st.data())
def test_no_damage_of_the_header_gets_past_as_another_error(
    specs: list[TensorSpec], data: st.DataObject
) -> None:
    header = bytearray(plan_image(specs).header)
    position = data.draw(st.integers(0, len(header) - 1))
    header[position] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ValueError):
        parse_image(bytes(header[: data.draw(st.integers(0, len(header)))]))


def test_names_and_widths_of_types_agree() -> None:
    bits = {code: re.search(r"\d+", name) for code, name in DTYPE_NAMES.items()}
    widths = {code: int(found[0]) // 8 if found else 1 for code, found in bits.items()}
    assert widths == DTYPE_WIDTH_BYTES
    assert {DTYPE_CODES[name] for name in DTYPE_NAMES.values()} == DTYPE_NAMES.keys()
