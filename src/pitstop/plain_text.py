"""Text made fit to be shown, without what a terminal would obey; a line for the user."""

import contextlib
import json
import math
import re
import sys
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar, cast

from pitstop.events import JsonValue

T = TypeVar("T")

# ECMA-48: control sequences, strings that a terminal takes (titles, links), two-byte escapes;
# each also in its one-byte form (C1).
ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|[\x9d\x90\x98\x9e\x9f][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
# Other control characters, halves of characters, and what turns the direction of text round.
_HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    r"\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def plain(text: str) -> str:
    if text.isprintable():
        return text
    return _HIDDEN.sub("", ESCAPES.sub("", text))


def plain_line(text: str) -> str:
    return " ".join(plain(text).split("\n"))


def json_text(value: JsonValue, indent: int | None = 2) -> str:
    """Strict JSON for users and programs: plain texts, and null for numbers that JSON lacks."""
    return json.dumps(_printable(value), indent=indent, allow_nan=False)


def _printable(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {plain(key): _printable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def plain_record(record: T) -> T:
    return cast("T", _plain_value(record))


def _plain_value(value: object) -> object:
    if isinstance(value, str):
        return plain(value)
    if is_dataclass(value) and not isinstance(value, type):
        found = {each.name: _plain_value(getattr(value, each.name)) for each in fields(value)}
        return replace(value, **found)
    if type(value) is tuple:
        return tuple(map(_plain_value, value))
    return value


PREFIX = "pitstop: "


def say(line: str) -> None:
    """Writes a line for the user, unless stderr is closed by now."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"{PREFIX}{plain_line(line)}\n")
            sys.stderr.flush()
