"""What all events have in common, and their JSON form."""

import dataclasses
import re
from typing import Any, ClassVar

from pitstop.record import Frozen, build

JsonValue = Any  # a value that `json` can carry: None, bool, int, float, str, list, dict


class Event(Frozen):
    """Base of all events; `kind` is the class name in snake case."""

    kind: ClassVar[str] = "event"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.kind = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        _KINDS[cls.kind] = cls


_KINDS: dict[str, type[Event]] = {}


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

    Of a known kind, fields that this version does not know are dropped.  If it lacks a required
    field, or has one of another type, it becomes an `UnknownEvent`.  So a reader never fails on a
    record that was written whole.
    """
    kind = str(record.get("kind", ""))
    try:
        return build(_KINDS[kind], kind, record)
    except (KeyError, ValueError):
        return UnknownEvent(kind, {key: each for key, each in record.items() if key != "kind"})
