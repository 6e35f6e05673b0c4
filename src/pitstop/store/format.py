"""The version of the on-disk format, and the check every reader starts with.

Files are JSON objects with `format` (which kind of file) and `version`.  Members that are not known
are ignored, later versions are refused.
"""

import json

from pitstop.errors import FormatTooNew
from pitstop.events import JsonValue

RUN_KIND = "pitstop-run"
CHECKPOINT_KIND = "pitstop-checkpoint"
GANG_KIND = "pitstop-gang"

CHECKPOINT_VERSION = 2
_VERSIONS = {RUN_KIND: 1, CHECKPOINT_KIND: CHECKPOINT_VERSION, GANG_KIND: 1}
"""Written into every file of the kind; the one version that this code reads."""


def format_members(kind: str) -> dict[str, JsonValue]:
    return {"format": kind, "version": _VERSIONS[kind]}


def check_format(record: JsonValue, kind: str) -> dict[str, JsonValue]:
    """The record, when it is of this kind and version; or `ValueError`, `FormatTooNew`."""
    if not isinstance(record, dict) or record.get("format") != kind:
        raise ValueError(f"its format is not {kind!r}")
    version = record.get("version")
    if type(version) is not int or version < _VERSIONS[kind]:
        raise ValueError(f"its format version {version!r} is unknown")
    if version > _VERSIONS[kind]:
        raise FormatTooNew(
            f"A file of the run has the format {kind} in version {version}; this Pitstop reads "
            f"version {_VERSIONS[kind]}.",
            "Upgrade Pitstop to the version that wrote this run.",
        )
    return record


def parsed(data: bytes) -> JsonValue:
    """The JSON value of a file; else a `ValueError`."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
