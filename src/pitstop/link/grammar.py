"""From what came over a socket to a message.  Pure.

Every process of the user may connect, and its first message may be anything.  What fits is safe
to be handled: its members have the types and the sizes, and the message the number of open
files, that its class promises.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from pitstop.link.beacon import MOST_NAME_BYTES
from pitstop.link.messages import MESSAGES, SOME, MalformedMessage, Message, UnknownMessage

_MOST_CHARACTERS = 100_000
_MOST_ITEMS = 100_000
_MOST_INTEGER = 1 << 63

_Check = Callable[[Any], bool]


def _integer(value: Any) -> bool:
    return type(value) is int and -_MOST_INTEGER <= value < _MOST_INTEGER


def _count(value: Any) -> bool:
    return _integer(value) and value >= 0


def _number(value: Any) -> bool:
    return type(value) is float or _integer(value)


def _number_or_none(value: Any) -> bool:
    return value is None or _number(value)


def _flag(value: Any) -> bool:
    return type(value) is bool


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _MOST_CHARACTERS


def _texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= _MOST_ITEMS and all(map(_text, value))


def _name(value: Any) -> bool:
    return isinstance(value, str) and len(value.encode()) <= MOST_NAME_BYTES


def _folder_name(value: Any) -> bool:
    return _text(value) and "/" not in value and "\0" not in value and value not in (".", "..")


def _numbers(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_number, value.values()))


def _counts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_count, value.values()))


def _record(value: Any) -> bool:
    return isinstance(value, dict) and _text(value.get("kind"))


def _allocators(value: Any) -> bool:
    return isinstance(value, list) and all(_allocator(each) for each in value)


def _allocator(value: Any) -> bool:
    if not isinstance(value, dict) or not _text(value.get("device")):
        return False
    sizes = [value.get("current_bytes"), value.get("peak_bytes")]
    return len(value) == 3 and all(map(_count, sizes))


def _mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _mappings(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= _MOST_ITEMS and all(map(_mapping, value))


_CHECKS: Mapping[str, _Check] = {
    "int": _integer,
    "Count": _count,
    "Count | None": lambda value: value is None or _count(value),
    "float": _number,
    "float | None": _number_or_none,
    "bool": _flag,
    "str": _text,
    "Name": _name,
    "FolderName": _folder_name,
    "Numbers": _numbers,
    "Counts": _counts,
    "Record": _record,
    "Allocators": _allocators,
    "Sequence[str]": _texts,
    "dict[str, Any]": _mapping,
    "Sequence[dict[str, Any]]": _mappings,
}
"""By the annotations in `link.messages`."""


def message_in(text: bytes | bytearray, fd_count: int) -> Message:
    """The message in a JSON text; what is no message is a `MalformedMessage`."""
    try:
        body = _object_in(text)
    except ValueError as problem:
        return MalformedMessage(str(problem))
    return message_from(body.pop("type"), body, fd_count)


def _object_in(text: bytes | bytearray) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except RecursionError:
        raise ValueError("a message is nested too deeply") from None
    if b"\\ud" in text.lower():
        # Half a character, such as of a file's name that is no UTF-8: nothing could write it.
        body = json.loads(json.dumps(body, ensure_ascii=False).encode(errors="replace"))
    if not isinstance(body, dict) or not isinstance(body.get("type"), str):
        raise ValueError("a message is no object with a type")
    return body


def message_from(type_: str, body: Mapping[str, Any], fd_count: int) -> Message:
    """The message that a JSON object is; members that this version does not know are dropped.

    `UnknownMessage` for a type that this version does not know, `MalformedMessage` for what does
    not fit.
    """
    cls = MESSAGES.get(type_)
    if cls is None:
        return UnknownMessage(type_)
    if cls.fds not in (fd_count, SOME):
        return MalformedMessage(f"{type_} comes with {fd_count} descriptors, not {cls.fds}")
    members = {}
    for member in fields(cls):
        if member.name in body:
            members[member.name] = body[member.name]
            if not _CHECKS[str(member.type)](body[member.name]):
                return MalformedMessage(f"the {member.name} of this {type_} is not one")
        elif not _is_optional(member):
            return MalformedMessage(f"this {type_} has no {member.name}")
    return cls(**members)


def _is_optional(member: Field[Any]) -> bool:
    return member.default is not MISSING or member.default_factory is not MISSING
