"""What all events have in common, and their JSON form."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable
from typing import Any, ClassVar

from pitstop.record import record

_NESTED = re.compile(r"(list|tuple|dict)\[(?:str, (?!\.))?(.+?)(?:, \.\.\.)?\]")
_MOST_INTEGER = 1 << 64
"""Of either sign; larger ones become infinite, or an error, where somebody divides."""

_Check = Callable[[Any], bool]
JsonValue = Any
"""A value that `json` can carry: None, bool, int, float, str, list, dict."""


@functools.cache
def checker(annotation: str) -> _Check:
    """The check for values of an annotation, such as "int", "float | None" or "list[str]"."""
    if " | " in annotation:
        checks = [checker(each) for each in annotation.split(" | ")]
        return lambda value: any(check(value) for check in checks)
    nested = _NESTED.fullmatch(annotation)
    if nested is None:
        return _PLAIN[annotation]
    inner = checker(nested[2])
    if nested[1] == "dict":
        return lambda value: isinstance(value, dict) and all(map(inner, value.values()))
    return lambda value: isinstance(value, list) and all(map(inner, value))


def _is_integer(value: Any) -> bool:
    return type(value) is int and -_MOST_INTEGER < value < _MOST_INTEGER


_PLAIN: dict[str, _Check] = {
    "int": _is_integer,
    "float": lambda value: type(value) is float or _is_integer(value),
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: type(value) is bool,
    "None": lambda value: value is None,
    "JsonValue": lambda _: True,
}


@record
class Event:
    """Base of all events; `kind` is the class name in snake case."""

    kind: ClassVar[str] = "event"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.kind = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        _KINDS[cls.kind] = cls


_KINDS: dict[str, type[Event]] = {}


@record
class UnknownEvent(Event):
    """An event of a kind this version does not know (a newer writer)."""

    original_kind: str
    fields: dict[str, JsonValue]


def to_record(event: Event) -> dict[str, JsonValue]:
    """The event as a JSON object whose first key is `kind`."""
    if isinstance(event, UnknownEvent):
        return {"kind": event.original_kind, **event.fields}
    return {"kind": event.kind, **dataclasses.asdict(event)}


def from_record(record: dict[str, JsonValue]) -> Event:
    """The event that `to_record` made; unknown kinds and fields survive.

    Fields that this version does not know are dropped from known kinds, and a
    known kind that lacks a required field, or has one of another type, becomes an
    `UnknownEvent`: a reader never fails on a record that was written whole.
    """
    fields = {key: value for key, value in record.items() if key != "kind"}
    cls = _KINDS.get(str(record.get("kind", "")))
    if cls is None:
        return UnknownEvent(str(record.get("kind", "")), fields)
    checks = _checks(cls.kind)
    known = {key: value for key, value in fields.items() if key in checks}
    try:
        fits = all(checks[key](value) for key, value in known.items())
        return cls(**known) if fits else UnknownEvent(cls.kind, fields)
    except TypeError:
        return UnknownEvent(cls.kind, fields)


@functools.cache
def _checks(kind: str) -> dict[str, Callable[[JsonValue], bool]]:
    return {each.name: checker(str(each.type)) for each in dataclasses.fields(_KINDS[kind])}
