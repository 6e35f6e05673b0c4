"""The version of the on-disk format, and the check every reader starts with.

Files that carry the format are JSON objects with the members `format` (which
kind of file) and `version`.  A reader ignores members it does not know, and
refuses later versions.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from pitstop.errors import FormatTooNew
from pitstop.events import JsonValue
from pitstop.events.base import checker

_Record = TypeVar("_Record")
MemberReader = Callable[[str, dict[str, JsonValue]], Any]

RUN_KIND = "pitstop-run"
CHECKPOINT_KIND = "pitstop-checkpoint"
GANG_KIND = "pitstop-gang"

CHECKPOINT_VERSION = 2
_VERSIONS = {RUN_KIND: 1, CHECKPOINT_KIND: CHECKPOINT_VERSION, GANG_KIND: 1}
"""Written into every file of the kind; the one version that this code reads."""


def format_members(kind: str) -> dict[str, JsonValue]:
    return {"format": kind, "version": _VERSIONS[kind]}


def check_format(record: JsonValue, kind: str) -> dict[str, JsonValue]:
    """The record, when it is an object of this kind in a version we read.

    Raises `ValueError`, or `FormatTooNew`.
    """
    if not isinstance(record, dict) or record.get("format") != kind:
        raise ValueError(f"it is not in the format {kind!r}")
    version = record.get("version")
    if type(version) is not int or version < _VERSIONS[kind]:
        raise ValueError(f"its format version {version!r} is unknown")
    if version > _VERSIONS[kind]:
        raise FormatTooNew(
            f"A {kind} of format version {version} was found; this Pitstop reads"
            f" {_VERSIONS[kind]}.",
            "Upgrade Pitstop to the version that wrote the run.",
        )
    return record


def parsed(data: bytes) -> JsonValue:
    """The JSON value of a file; else a `ValueError`."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def build(cls: type[_Record], name: str, record: JsonValue, **readers: MemberReader) -> _Record:
    """A record of this class, else a `ValueError`; `readers` are of members that need their own."""
    if not isinstance(record, dict):
        raise ValueError(f"its member {name!r} is missing")
    values = {member: read(name, record) for member, read in readers.items()}
    for each in fields(cls):  # type: ignore[arg-type]
        optional = each.default_factory is not MISSING or each.default is not MISSING
        if each.name in values or (optional and each.name not in record):
            continue
        values[each.name] = checked_value(
            f"{name}.{each.name}", str(each.type), record.get(each.name)
        )
    return cls(**values)


def checked_value(name: str, annotation: str, value: JsonValue) -> JsonValue:
    if not checker(annotation)(value):
        raise ValueError(f"its member {name!r} cannot be {value!r}")
    return tuple(value) if isinstance(value, list) else value
