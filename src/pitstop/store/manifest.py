"""The manifest of a checkpoint: what it holds, with a checksum of every byte.

A manifest is JSON that a person can read, one tensor per line.  Its last
member is the checksum of all bytes before that member, so that any alteration
is noticed before the content is believed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TypeVar

from xxhash import xxh3_64_hexdigest

from pitstop.events import JsonValue
from pitstop.store.format import check_format, format_members

MANIFEST_FILE = "manifest.json"
TENSORS_FILE = "tensors.safetensors"
STATE_FILE = "state.json"

FORMAT_KIND = "pitstop-checkpoint"

_SUFFIX = ',\n  "xxh3_64": "{}"\n}}\n'
_SUFFIX_BYTES = len(_SUFFIX.format("0" * 16))

_Record = TypeVar("_Record")


@dataclass(frozen=True)
class TensorEntry:
    """One tensor: its type, its place in the tensors file, its checksum.

    offset_bytes counts from the start of the file; xxh3_64 is 16 hex digits.
    """

    dtype: str
    shape: tuple[int, ...]
    offset_bytes: int
    size_bytes: int
    xxh3_64: str


@dataclass(frozen=True)
class FileEntry:
    """One file of the checkpoint: its size and checksum, 16 hex digits."""

    size_bytes: int
    xxh3_64: str


@dataclass(frozen=True)
class CheckpointInfo:
    """Where in the training a checkpoint was taken, and why.

    Attributes:
        step: training steps completed over the whole run.
        epoch: epoch the next step belongs to.
        step_in_epoch: steps completed in that epoch.
        fit: which `model.fit` of the process, counted from 0.
        milestone: "fit_end" for the end of a fit, else empty.
        attempt: attempt of the run that took it.
        reason: as in `events.CheckpointCommitted`.
        level: how exactly it can be resumed, as in `events.LevelKnown`.
        created_seconds: seconds since the epoch.
        versions: version by library name.
    """

    step: int
    epoch: int
    step_in_epoch: int
    fit: int
    milestone: str
    attempt: int
    reason: str
    level: str
    created_seconds: float
    versions: dict[str, str]


@dataclass(frozen=True)
class Manifest:
    """What a checkpoint promises.

    Attributes:
        sequence: number of the checkpoint in the run; grows with every commit.
        info: where and why it was taken.
        files: by file name.
        tensors: by tensor name.
    """

    sequence: int
    info: CheckpointInfo
    files: Mapping[str, FileEntry]
    tensors: Mapping[str, TensorEntry]


def encode(manifest: Manifest) -> bytes:
    """The manifest as JSON with its checksum; equal manifests give equal bytes."""
    members: dict[str, JsonValue] = {
        **format_members(FORMAT_KIND),
        "sequence": manifest.sequence,
        "info": asdict(manifest.info),
        "files": {name: asdict(entry) for name, entry in sorted(manifest.files.items())},
        "tensors": {name: asdict(entry) for name, entry in _by_offset(manifest.tensors)},
    }
    lines = (f"  {json.dumps(key)}: {_member_text(value)}" for key, value in members.items())
    body = ("{\n" + ",\n".join(lines)).encode()
    return body + _SUFFIX.format(xxh3_64_hexdigest(body)).encode()


def decode(data: bytes) -> Manifest:
    """The manifest that `encode` wrote.

    Raises:
        ValueError: the manifest is damaged, with the reason.
        FormatTooNew: a newer Pitstop wrote it.
    """
    record = check_format(_checked_json(data), FORMAT_KIND)
    return Manifest(
        sequence=_checked_value("sequence", "int", record.get("sequence")),
        info=_build(CheckpointInfo, "info", record.get("info")),
        files=_build_each(FileEntry, "files", record),
        tensors=_build_each(TensorEntry, "tensors", record),
    )


def _by_offset(tensors: Mapping[str, TensorEntry]) -> list[tuple[str, TensorEntry]]:
    return sorted(tensors.items(), key=lambda item: (item[1].offset_bytes, item[0]))


def _member_text(value: JsonValue) -> str:
    if not isinstance(value, dict) or not value:
        return json.dumps(value, allow_nan=False)
    lines = (
        f"    {json.dumps(key)}: {json.dumps(inner, allow_nan=False)}"
        for key, inner in value.items()
    )
    return "{\n" + ",\n".join(lines) + "\n  }"


def _checked_json(data: bytes) -> JsonValue:
    body, suffix = data[:-_SUFFIX_BYTES], data[-_SUFFIX_BYTES:]
    if suffix != _SUFFIX.format(xxh3_64_hexdigest(body)).encode():
        raise ValueError("its checksum does not hold")
    return json.loads(data)


def _build_each(
    cls: type[_Record], member: str, record: dict[str, JsonValue]
) -> dict[str, _Record]:
    entries = record.get(member)
    if not isinstance(entries, dict):
        raise ValueError(f"its member {member!r} is missing")
    return {name: _build(cls, name, entry) for name, entry in entries.items()}


def _build(cls: type[_Record], name: str, record: JsonValue) -> _Record:
    if not isinstance(record, dict):
        raise ValueError(f"its member {name!r} is missing")
    values = {
        field.name: _checked_value(f"{name}.{field.name}", str(field.type), record.get(field.name))
        for field in fields(cls)  # type: ignore[arg-type]
    }
    return cls(**values)


def _checked_value(name: str, annotation: str, value: JsonValue) -> JsonValue:
    if not _FITS[annotation](value):
        raise ValueError(f"its member {name!r} cannot be {value!r}")
    return tuple(value) if isinstance(value, list) else value


_FITS: Mapping[str, Callable[[JsonValue], bool]] = {
    "int": lambda value: type(value) is int,
    "float": lambda value: type(value) in (int, float),
    "str": lambda value: isinstance(value, str),
    "tuple[int, ...]": lambda value: (
        isinstance(value, list) and all(type(item) is int for item in value)
    ),
    "dict[str, str]": lambda value: (
        isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
    ),
}
