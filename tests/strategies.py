"""Hypothesis strategies that several tests share."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any

from hypothesis import strategies as st

from pitstop import events
from pitstop.events import Event

EVENT_CLASSES: tuple[type[Event], ...] = tuple(
    cls
    for cls in vars(events).values()
    if isinstance(cls, type) and issubclass(cls, Event) and cls is not Event
)
"""Every event class there is, UnknownEvent included."""

_FLOATS = st.floats(allow_nan=False)
_SCALARS = st.none() | st.booleans() | st.integers() | _FLOATS | st.text(max_size=8)
JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)

_PLAIN: dict[object, st.SearchStrategy[Any]] = {
    Any: JSON_VALUES,
    bool: st.booleans(),
    float: _FLOATS,
    int: st.integers(-(1 << 63), (1 << 63) - 1),
    str: st.text(max_size=12),
    type(None): st.none(),
}


def values_of(annotation: Any) -> st.SearchStrategy[Any]:
    """Values of a field type used in events: plain, optional, list or dict of those."""
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    arguments = typing.get_args(annotation)
    origin = typing.get_origin(annotation)
    if origin in (types.UnionType, typing.Union):
        return st.one_of(*map(values_of, arguments))
    if origin is list:
        return st.lists(values_of(arguments[0]), max_size=3)
    if origin is dict:
        return st.dictionaries(st.text(max_size=4), values_of(arguments[1]), max_size=3)
    raise TypeError(f"no strategy for a field of type {annotation!r}")


def instances_of(cls: type[Event]) -> st.SearchStrategy[Event]:
    """Events of one class with every field filled in."""
    if cls is events.UnknownEvent:
        return _unknown_events()
    hints = typing.get_type_hints(cls)
    fields = {field.name: values_of(hints[field.name]) for field in dataclasses.fields(cls)}
    return st.builds(cls, **fields)


def _unknown_events() -> st.SearchStrategy[Event]:
    kinds = st.from_regex(r"future_[a-z]{1,8}", fullmatch=True)
    names = st.text(min_size=1, max_size=8).filter(lambda name: name != "kind")
    return st.builds(events.UnknownEvent, kinds, st.dictionaries(names, JSON_VALUES, max_size=4))


any_event: st.SearchStrategy[Event] = st.sampled_from(EVENT_CLASSES).flatmap(instances_of)
