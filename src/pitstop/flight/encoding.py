"""A sample as one line of text, and back.

A line is a JSON object with a checksum, as in the journal.  What is not known is left
out, and numbers that JSON does not have are text: "nan", "inf", "-inf".
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pitstop import journal
from pitstop.flight.sample import (
    AllocatorSample,
    CgroupSample,
    DiskSample,
    GpuSample,
    HostSample,
    PressureSample,
    ProcessSample,
    Sample,
    TrainingSample,
)

_T = TypeVar("_T")

_KINDS: Mapping[str, type] = {
    "allocators": AllocatorSample,
    "cgroup": CgroupSample,
    "disks": DiskSample,
    "gpus": GpuSample,
    "host": HostSample,
    "pressure": PressureSample,
    "processes": ProcessSample,
    "training": TrainingSample,
}
"""By the name of a member: of what class it is, or each of its items."""

_MEMBERS: Mapping[type, frozenset[str]] = {
    kind: frozenset(field.name for field in dataclasses.fields(kind))
    for kind in (Sample, *_KINDS.values())
}


def encode(sample: Sample) -> bytes:
    """One line, newline included."""
    return journal.seal(json.dumps(sample, default=_known, separators=(",", ":")))


def decode(line: bytes) -> Sample | None:
    """The sample of a line; None when it is damaged.

    Members that this version does not know are passed over.
    """
    record = journal.unseal(line)
    return None if record is None else _build(Sample, record)


def _known(value: Any) -> dict[str, Any]:
    """The members that are known and not empty."""
    members = {name: each for name, each in vars(value).items() if each not in (None, [], {}, "")}
    return _with_numbers(members, _as_text) if isinstance(value, TrainingSample) else members


def _build(kind: type[_T], record: Mapping[str, Any]) -> _T:
    known = {name: _member(name, record[name]) for name in record if name in _MEMBERS[kind]}
    return kind(**(_with_numbers(known, float) if kind is TrainingSample else known))


def _member(name: str, value: Any) -> Any:
    kind = _KINDS.get(name)
    if kind is None:
        return value
    return (
        [_build(kind, each) for each in value] if isinstance(value, list) else _build(kind, value)
    )


def _with_numbers(members: dict[str, Any], convert: Callable[[Any], float | str]) -> dict[str, Any]:
    """With what training told of itself, which need not be finite, converted."""
    told: dict[str, Any] = {
        name: convert(members[name]) for name in ("loss", "learning_rate") if name in members
    }
    if "metrics" in members:
        told["metrics"] = {name: convert(value) for name, value in members["metrics"].items()}
    return {**members, **told}


def _as_text(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
