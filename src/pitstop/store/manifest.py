"""The manifest of a checkpoint, as docs/format.md specifies it."""

import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, field
from typing import Annotated, Self, TypeAlias

from xxhash import xxh3_64_hexdigest

from pitstop.events import JsonValue
from pitstop.record import Frozen, build, fitting, read
from pitstop.store.format import CHECKPOINT_KIND, check_format, format_members, parsed
from pitstop.store.image import DTYPE_WIDTH_BYTES
from pitstop.store.names import is_file_name

MANIFEST_FILE = "manifest.json"
TENSORS_FILE = "tensors.safetensors"
STATE_FILE = "state.json"

_SUFFIX = ',\n  "xxh3_64": "{}"\n}}\n'
_SUFFIX_BYTES = len(_SUFFIX.format("0" * 16))
_LARGEST = sys.float_info.max


def _matching(pattern: str) -> Callable[[str, JsonValue], str]:
    return fitting(lambda value: isinstance(value, str) and bool(re.fullmatch(pattern, value)))


def _finite(least: float) -> Callable[[str, JsonValue], float]:
    return fitting(lambda value: type(value) in (int, float) and least <= value <= _LARGEST)


_Count: TypeAlias = Annotated[
    int, fitting(lambda value: type(value) is int and 0 <= value < 1 << 63)
]
_Digest: TypeAlias = Annotated[str, _matching("[0-9a-f]{16}")]
_Word: TypeAlias = Annotated[str, _matching("[a-z0-9_]{0,64}")]
_Name: TypeAlias = Annotated[str, _matching("([A-Za-z0-9][A-Za-z0-9._-]{0,63})?")]
_Seconds: TypeAlias = Annotated[float, _finite(0.0)]
_Metric: TypeAlias = Annotated[float, _finite(-_LARGEST)]


class Part(Frozen):
    """Some bytes of a tensor: `size_bytes` from `offset_bytes` of a file of the checkpoint."""

    file: str
    offset_bytes: int
    size_bytes: int

    @classmethod
    def read(cls, name: str, row: JsonValue) -> Self:
        return cls(*read(tuple[str, _Count, _Count], name, row))


class TensorEntry(Frozen):
    """One tensor: its type, its checksum (see `store.digest`), and its bytes, in order."""

    dtype: str
    shape: tuple[_Count, ...]
    size_bytes: int
    xxh3_64: _Digest
    parts: tuple[Annotated[Part, Part.read], ...]


class FileEntry(Frozen):
    """One file of the checkpoint; the checksum of a tensors file covers its header only."""

    size_bytes: _Count
    xxh3_64: _Digest


class CheckpointInfo(Frozen):
    """Where in the training a checkpoint was taken, and why."""

    step: _Count  # training steps completed over the whole run
    epoch: _Count  # epoch the next step belongs to
    step_in_epoch: _Count  # steps completed in that epoch
    fit: _Count  # which `model.fit` of the process, counted from 0
    milestone: _Word  # "fit_end" for the end of a fit, else empty
    attempt: _Count
    reason: _Word  # as in `events.CheckpointCommitted`; `level` as in `events.LevelKnown`
    level: _Word
    created_seconds: _Seconds
    versions: dict[str, str]
    name: _Name = ""  # given by the user, to keep the checkpoint; else empty
    metrics: dict[str, _Metric] = field(default_factory=dict)  # of the epoch that ends here
    identity: dict[str, JsonValue] = field(default_factory=dict)  # see `engine.identity`
    non_finite: tuple[str, ...] = ()  # the first weights that hold NaN or infinite numbers


class Manifest(Frozen):
    """What a checkpoint promises; `sequence`, its number in the run, grows with every commit."""

    sequence: _Count
    info: CheckpointInfo
    files: Mapping[str, FileEntry]
    tensors: Mapping[str, TensorEntry]


def encode(manifest: Manifest) -> bytes:
    """The manifest as JSON with its checksum; equal manifests give equal bytes."""
    info = asdict(manifest.info)
    members: dict[str, JsonValue] = {
        **format_members(CHECKPOINT_KIND),
        "sequence": manifest.sequence,
        "info": {name: each for name, each in info.items() if each or name != "non_finite"},
        "files": {name: vars(entry) for name, entry in sorted(manifest.files.items())},
        "tensors": {
            name: {**vars(entry), "parts": [[*vars(part).values()] for part in entry.parts]}
            for name, entry in manifest.tensors.items()
        },
    }
    lines = (f"  {json.dumps(key)}: {_member_text(value)}" for key, value in members.items())
    body = ("{\n" + ",\n".join(lines)).encode()
    return body + _SUFFIX.format(xxh3_64_hexdigest(body)).encode()


def decode(data: bytes) -> Manifest:
    """The manifest that `encode` wrote; `ValueError` where it is damaged, or `FormatTooNew`."""
    body, suffix = data[:-_SUFFIX_BYTES], data[-_SUFFIX_BYTES:]
    if suffix != _SUFFIX.format(xxh3_64_hexdigest(body)).encode():
        raise ValueError("its checksum does not match")
    record = check_format(parsed(data), CHECKPOINT_KIND)
    manifest = build(Manifest, "manifest", record)
    for problem in _problems(manifest):
        raise ValueError(problem)
    return manifest


def _problems(manifest: Manifest) -> Iterator[str]:
    """What cannot be true; the checksum holds for whoever has written it."""
    parts = (part for each in manifest.tensors.values() for part in each.parts)
    for name in (*manifest.files, *(part.file for part in parts)):
        if not is_file_name(name):
            yield f"it names a file {name!r}"
    for name, tensor in manifest.tensors.items():
        width_bytes = DTYPE_WIDTH_BYTES.get(tensor.dtype)
        if width_bytes is None:
            yield f"tensor {name!r} has the unknown type {tensor.dtype!r}"
        elif math.prod(tensor.shape) * width_bytes != tensor.size_bytes:
            form = f"{tensor.dtype} {list(tensor.shape)}"
            yield f"tensor {name!r} has {tensor.size_bytes} bytes for {form}"
        if sum(part.size_bytes for part in tensor.parts) != tensor.size_bytes:
            yield f"the parts of {name!r} are not {tensor.size_bytes} bytes"


def _member_text(value: JsonValue) -> str:
    if not isinstance(value, dict) or not value:
        return json.dumps(value, allow_nan=False)
    lines = (
        f"    {json.dumps(key)}: {json.dumps(inner, allow_nan=False)}"
        for key, inner in value.items()
    )
    return "{\n" + ",\n".join(lines) + "\n  }"
