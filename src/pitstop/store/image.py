"""The layout of a tensors file, as docs/format.md specifies it.  Imported inside the trainer."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from types import MappingProxyType

from pitstop.errors import InternalFault
from pitstop.events import JsonValue
from pitstop.record import Frozen

_DTYPES = (
    ("F64", "float64", 8),
    ("I64", "int64", 8),
    ("U64", "uint64", 8),
    ("F32", "float32", 4),
    ("I32", "int32", 4),
    ("U32", "uint32", 4),
    ("F16", "float16", 2),
    ("BF16", "bfloat16", 2),
    ("I16", "int16", 2),
    ("U16", "uint16", 2),
    ("F8_E4M3", "float8_e4m3fn", 1),
    ("F8_E5M2", "float8_e5m2", 1),
    ("I8", "int8", 1),
    ("U8", "uint8", 1),
    ("BOOL", "bool", 1),
)

DTYPE_WIDTH_BYTES: Mapping[str, int] = {code: width for code, _, width in _DTYPES}
"""Bytes of one element, by safetensors dtype code."""

DTYPE_NAMES: Mapping[str, str] = {code: name for code, name, _ in _DTYPES}
"""What NumPy and TensorFlow call a type, by safetensors dtype code."""

DTYPE_CODES: Mapping[str, str] = {name: code for code, name, _ in _DTYPES}

DATA_ALIGNMENT_BYTES = 64  # the data section starts at a multiple of this: one cache line

MAX_HEADER_BYTES = 100_000_000  # the safetensors library refuses longer JSON headers

LENGTH_BYTES = 8

_METADATA_KEY = "__metadata__"
_NO_METADATA: Mapping[str, str] = MappingProxyType({})


class TensorSpec(Frozen):
    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def size_bytes(self) -> int:
        return math.prod(self.shape) * DTYPE_WIDTH_BYTES[self.dtype]


class Placement(Frozen):
    """Where a tensor lies.  offset_bytes counts from the start of the image."""

    spec: TensorSpec
    offset_bytes: int
    size_bytes: int

    @property
    def end_bytes(self) -> int:
        return self.offset_bytes + self.size_bytes


class Image(Frozen):
    """A whole tensors file but for its data; `header` includes its length and the padding."""

    header: bytes
    placements: tuple[Placement, ...]
    size_bytes: int


def plan_image(specs: Sequence[TensorSpec], metadata: Mapping[str, str] = _NO_METADATA) -> Image:
    """The image that holds `specs`, wide dtypes first; `InternalFault` for invalid specs."""
    _check_specs(specs)
    ordered = sorted(specs, key=lambda spec: -DTYPE_WIDTH_BYTES[spec.dtype])
    starts = list(accumulate((spec.size_bytes for spec in ordered), initial=0))
    header = _encode_header(ordered, starts, metadata)
    placements = tuple(
        Placement(spec, len(header) + start, spec.size_bytes)
        for spec, start in zip(ordered, starts, strict=False)
    )
    return Image(header, placements, len(header) + starts[-1])


def parse_image(data: bytes | memoryview) -> Image:
    """The image of a tensors file, from its beginning; else a `ValueError` with the reason.

    Compare `Image.size_bytes` with the size of the file: bytes after the header are not looked at.
    """
    header = bytes(data[: header_size_bytes(data)])
    members = _decode_header(header)
    metadata = members.pop(_METADATA_KEY, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ValueError("the header's metadata is not a mapping of strings")
    located = (_parse_tensor(name, value, len(header)) for name, value in members.items())
    placements = tuple(sorted(located, key=lambda p: (p.offset_bytes, p.end_bytes)))
    expected = len(header)
    for place in placements:
        if place.offset_bytes != expected:
            raise ValueError(f"tensor {place.spec.name!r} leaves a gap or overlaps another")
        expected = place.end_bytes
    return Image(header, placements, placements[-1].end_bytes if placements else len(header))


def header_size_bytes(data: bytes | memoryview) -> int:
    """Its length field included; `ValueError` where that is cut or absurd."""
    if len(data) < LENGTH_BYTES:
        raise ValueError("the header length is cut off")
    json_bytes = int.from_bytes(data[:LENGTH_BYTES], "little")
    if json_bytes > MAX_HEADER_BYTES:
        raise ValueError(f"the header claims {json_bytes} bytes")
    return LENGTH_BYTES + json_bytes


def _check_specs(specs: Sequence[TensorSpec]) -> None:
    names = Counter(spec.name for spec in specs)
    for spec in specs:
        reason = ""
        if names[spec.name] > 1:
            reason = "its name is used twice"
        elif spec.name == _METADATA_KEY or any("\ud800" <= char <= "\udfff" for char in spec.name):
            reason = "its name cannot be stored"
        elif spec.dtype not in DTYPE_WIDTH_BYTES:
            reason = f"dtype {spec.dtype!r} is unknown"
        elif not _is_shape(list(spec.shape)):
            reason = f"{spec.shape} is not a shape"
        if reason:
            raise InternalFault(f"Tensor {spec.name!r} cannot be laid out: {reason}.")


def _encode_header(
    specs: Sequence[TensorSpec], starts: Sequence[int], metadata: Mapping[str, str]
) -> bytes:
    members: dict[str, JsonValue] = {_METADATA_KEY: dict(metadata)} if metadata else {}
    for spec, (start, end) in zip(specs, pairwise(starts), strict=True):
        shape = list(spec.shape)
        members[spec.name] = {"dtype": spec.dtype, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()
    padding = -(LENGTH_BYTES + len(text)) % DATA_ALIGNMENT_BYTES
    json_bytes = len(text) + padding
    if json_bytes > MAX_HEADER_BYTES:
        raise InternalFault(f"{len(specs)} tensors need a header of {json_bytes} bytes.")
    return json_bytes.to_bytes(LENGTH_BYTES, "little") + text + b" " * padding


def _decode_header(header: bytes) -> dict[str, JsonValue]:
    if len(header) < header_size_bytes(header):
        raise ValueError("the header is cut off")
    try:
        text = header[LENGTH_BYTES:].decode("utf-8")
        members = json.loads(text, object_pairs_hook=_unique_members)
    except RecursionError:
        raise ValueError("the header is nested too deeply") from None
    if not isinstance(members, dict):
        raise ValueError("the header is not a JSON object")
    return members


def _unique_members(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("the header has a member twice")
    return members


def _parse_tensor(name: str, value: JsonValue, header_bytes: int) -> Placement:
    dtype, shape, (start, end) = _tensor_members(name, value)
    spec = TensorSpec(name, dtype, shape)
    if end - start != spec.size_bytes:
        raise ValueError(f"tensor {name!r} has {end - start} bytes for {dtype} {list(shape)}")
    return Placement(spec, header_bytes + start, end - start)


def _tensor_members(name: str, value: JsonValue) -> tuple[str, tuple[int, ...], tuple[int, int]]:
    if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"tensor {name!r} has no dtype, shape and data_offsets")
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPE_WIDTH_BYTES:
        raise ValueError(f"tensor {name!r} has the unknown dtype {dtype!r}")
    if not _is_shape(shape):
        raise ValueError(f"tensor {name!r} has no shape: {shape!r}")
    if not _is_shape(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise ValueError(f"tensor {name!r} has no place: {offsets!r}")
    return dtype, tuple(shape), (offsets[0], offsets[1])


def _is_shape(value: JsonValue) -> bool:
    return isinstance(value, list) and all(type(size) is int and size >= 0 for size in value)
