"""The kinds of objects that have content of their own: how it is read, and refilled in place."""

from __future__ import annotations

import argparse
import collections
import threading
import types
from collections import OrderedDict, deque
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

import numpy as np

from pitstop.engine.reachable import slots_of

_PLAIN_OBJECTS = (
    types.SimpleNamespace,
    argparse.Namespace,
    collections.UserDict,
    collections.UserList,
    threading.local,
)
COLLECTIONS: Mapping[str, type] = {
    "list": list,
    "dict": dict,
    "set": set,
    "deque": deque,
    "bytearray": bytearray,
}
FIELDS = ("object", "library", "function", "class", "module", "context")
_UNSET = object()
_FACTORIES: Mapping[str, Any] = {
    each.__name__: each
    for each in (int, float, bool, str, bytes, tuple, list, dict, set, deque, collections.Counter)
}
_SPECIAL: Mapping[str, type] = {"OrderedDict": OrderedDict, "Counter": collections.Counter}


def kind_of(kind: type) -> str:
    """Which kind of collection a class is; empty for what is none."""
    if issubclass(kind, np.ndarray):
        return "array"
    return next((name for name, base in COLLECTIONS.items() if issubclass(kind, base)), "")


def is_plain_object(kind: type) -> bool:
    """Whether a class of the standard library holds nothing but attributes."""
    return issubclass(kind, _PLAIN_OBJECTS)


def items_of(value: Any) -> list[Any]:
    """The items of a collection, those of a dictionary as pairs.

    By the methods of the builtin: a class of the script may do much in its own.
    """
    if isinstance(value, dict):
        return list(dict.copy(value).items())
    if isinstance(value, set):
        return sorted(set.copy(value), key=repr)
    if isinstance(value, deque):
        return list(deque.copy(value))
    return bytes(value) if isinstance(value, bytearray) else list.copy(value)  # type: ignore[return-value]


def refill(value: Any, items: Any) -> None:
    """Gives a collection other items, dictionaries by pairs."""
    if isinstance(value, list):
        list.__setitem__(value, slice(None), items)
    elif isinstance(value, dict):
        base = OrderedDict if isinstance(value, OrderedDict) else dict
        base.clear(value)
        base.update(value, items)
    elif isinstance(value, set):
        set.clear(value)
        set.update(value, items)
    elif isinstance(value, deque):
        deque.clear(value)
        deque.extend(value, items)
    elif isinstance(value, bytearray):
        value[:] = items


def form_of(value: Any) -> str:
    """How an empty collection of this kind is made, as a word."""
    if isinstance(value, collections.defaultdict):
        factory = value.default_factory
        return f"defaultdict {getattr(factory, '__name__', '?') if factory else ''}"
    if isinstance(value, deque):
        return f"deque {value.maxlen if value.maxlen is not None else ''}"
    return type(value).__name__


def can_be_made(form: str) -> bool:
    """Whether `make` gives such a collection; none of the script's own classes."""
    name, _, factory = form.partition(" ")
    return ":" not in form and (name != "defaultdict" or not factory or factory in _FACTORIES)


def make(kind: str, form: str) -> Any:
    """An empty collection.

    Raises:
        KeyError: there is no such kind.
    """
    name, _, detail = form.partition(" ")
    if name == "defaultdict":
        return collections.defaultdict(_FACTORIES[detail] if detail else None)
    if name == "deque":
        return deque(maxlen=int(detail) if detail else None)
    return _SPECIAL.get(name, COLLECTIONS[kind])()


def fields_of(value: Any) -> dict[str, Any]:
    """The attributes of an object, those in slots included; the value of a context variable."""
    if isinstance(value, ContextVar):
        held = value.get(_UNSET)
        return {} if held is _UNSET else {"value": held}
    return dict(dict_of(value)) | dict(slots_of(value))


def dict_of(value: Any) -> dict[str, Any]:
    """The attributes of an object, those in slots not included, to be changed in place."""
    base = threading.local if isinstance(value, threading.local) else object
    try:
        found = base.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}


def data_of_class(kind: type) -> dict[str, Any]:
    """The attributes of a class that are neither code nor part of the language."""
    return {
        name: value
        for name, value in list(vars(kind).items())
        if not name.startswith("__")
        and not hasattr(type(value), "__get__")
        and not isinstance(value, staticmethod | classmethod | property)
    }


def set_field(holder: Any, name: str, value: Any) -> None:
    """Sets an attribute, a global, or what a function closes over."""
    if isinstance(holder, types.FunctionType) and name in holder.__code__.co_freevars:
        index = holder.__code__.co_freevars.index(name)
        (holder.__closure__ or ())[index].cell_contents = value
    elif isinstance(holder, types.ModuleType):
        vars(holder)[name] = value
    elif isinstance(holder, ContextVar):
        holder.set(value)
    elif isinstance(holder, type):
        type.__setattr__(holder, name, value)
    elif isinstance(getattr(type(holder), name, None), types.MemberDescriptorType):
        object.__setattr__(holder, name, value)
    else:
        # Past `__setattr__`: what a library does there was done when it was set.
        dict_of(holder)[name] = value
