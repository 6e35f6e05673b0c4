"""The kinds of objects that have content of their own: how it is read, and refilled in place.

Iterators of the standard library, and files open for reading, have a position of one or two
numbers; a resume moves the one that the script has made anew to it.
"""

import argparse
import array
import ast
import collections
import ctypes
import functools
import io
import itertools
import logging
import queue
import threading
import types
import warnings
import weakref
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Any

import numpy as np

from pitstop.engine.script_state.settings import ProcessSettings
from pitstop.engine.values import set_order
from pitstop.engine.values.reachable import CACHED, dict_of, slots_of

_PLAIN_OBJECTS = (
    types.SimpleNamespace,
    argparse.Namespace,
    collections.ChainMap,
    collections.UserDict,
    collections.UserList,
    threading.local,
    logging.LoggerAdapter,
    weakref.WeakKeyDictionary,
    weakref.WeakValueDictionary,
    weakref.WeakSet,
    ProcessSettings,
)
# Modules of classes that a plain collection can stand for; Keras has a list of its own on a layer.
_MADE_PLAIN = (
    *("builtins", "collections", "array", "queue", "threading", "ctypes", "_ctypes"),
    *("keras.", "tf_keras.", "tensorflow."),
)
_SHARED_VALUES = "multiprocessing.sharedctypes"  # loaded only where a script has such values
_MEMORY: Any = ctypes.c_double.__mro__[-2]
"""The base class of all numbers, arrays, structures and pointers of `ctypes`."""
COLLECTIONS: Mapping[str, type] = {
    "list": list,
    "dict": dict,
    "set": set,
    "deque": deque,
    "bytearray": bytearray,
    "numbers": array.array,
    "memory": _MEMORY,
    "queue": queue.Queue,
    "flag": threading.Event,
}
_BETWEEN_THREADS = (queue.Queue, threading.Event)
FIELDS = ("object", "library", "function", "class", "module", "context")
_UNSET = object()
_OF_C = (types.MemberDescriptorType, types.GetSetDescriptorType)
"""Descriptors of slots, and of attributes that a builtin class has, such as an exception's."""
_FACTORIES: Mapping[str, Any] = {
    each.__name__: each
    for each in (int, float, bool, str, bytes, tuple, list, dict, set, deque, collections.Counter)
}
_SPECIAL: Mapping[str, type] = {"OrderedDict": OrderedDict, "Counter": collections.Counter}


def kind_of(kind: type) -> str:
    """The kind of collection that a class is, as `COLLECTIONS` names it, or "array"; else empty."""
    if issubclass(kind, np.ndarray):
        return "array"
    if issubclass(kind, _MEMORY):
        return "memory" if _holds_numbers(kind) else ""
    if issubclass(kind, _BETWEEN_THREADS) and _has_other_threads():
        return ""
    return next((name for name, base in COLLECTIONS.items() if issubclass(kind, base)), "")


def _holds_numbers(kind: Any) -> bool:
    while issubclass(kind, ctypes.Array):
        kind = kind._type_
    if issubclass(kind, ctypes.Structure | ctypes.Union):
        fields = [each for base in kind.__mro__ for each in vars(base).get("_fields_", ())]
        return all(_holds_numbers(each[1]) for each in fields)
    return getattr(kind, "_type_", "P") in (*array.typecodes, "?")


def _has_other_threads() -> bool:
    """Whether other threads run; what they send each other is no state, as it is sent again."""
    others = (each for each in threading.enumerate() if each is not threading.main_thread())
    return not all(
        isinstance(each, threading.Timer) or each.name.startswith("pitstop-") for each in others
    )


def make_object(kind: type) -> Any:
    """A new object without attributes; the constructor of its class is not called."""
    base = types.SimpleNamespace if issubclass(kind, types.SimpleNamespace) else object
    return base.__new__(kind)


def is_plain_object(kind: type) -> bool:
    return issubclass(kind, _PLAIN_OBJECTS) or kind.__module__ == _SHARED_VALUES


def items_of(value: Any) -> list[Any]:
    """The items: pairs of a dictionary, bytes of a buffer; of a set, its layout before these."""
    if isinstance(value, dict):
        # The order of an `OrderedDict` is its own.
        return list((OrderedDict if isinstance(value, OrderedDict) else dict).items(value))
    if isinstance(value, set):
        return set_order.items_of(value)
    if isinstance(value, deque):
        return list(deque.__iter__(value))
    if isinstance(value, queue.Queue):
        return list(value.queue)
    if isinstance(value, threading.Event):
        return [value.is_set()]
    is_buffer = isinstance(value, bytearray | array.array | _MEMORY)
    return bytes(value) if is_buffer else list.copy(value)  # type: ignore[return-value]


def refill(value: Any, items: Any) -> None:
    if isinstance(value, list):
        list.__setitem__(value, slice(None), items)
    elif isinstance(value, dict):
        base = OrderedDict if isinstance(value, OrderedDict) else dict
        base.clear(value)
        base.update(value, items)
    elif isinstance(value, set):
        set_order.fill(value, items)
    elif isinstance(value, deque):
        deque.clear(value)
        deque.extend(value, items)
    elif isinstance(value, bytearray):
        value[:] = items
    elif isinstance(value, array.array):
        value[:] = array.array(value.typecode, items)
    elif isinstance(value, queue.Queue):
        value.queue.clear()
        value.queue.extend(items)
        value.unfinished_tasks = len(items)
    elif isinstance(value, threading.Event):
        (value.set if any(items) else value.clear)()
    elif isinstance(value, _MEMORY):
        memoryview(value).cast("B")[:] = items


def form_of(value: Any) -> str:
    """The form that `make` takes; with a colon for a library's own class, which is never made."""
    kind = type(value)
    if not kind.__module__.startswith(_MADE_PLAIN):
        return f"{kind.__module__}:{kind.__qualname__}"
    if isinstance(value, collections.defaultdict):
        factory = value.default_factory
        return f"defaultdict {getattr(factory, '__name__', '?') if factory else ''}"
    if isinstance(value, deque):
        return f"deque {value.maxlen if value.maxlen is not None else ''}"
    if isinstance(value, array.array):
        return f"numbers {value.typecode}"
    if isinstance(value, _MEMORY | queue.Queue | threading.Event):
        return f"{kind_of(type(value))} {type(value).__name__}"
    return kind.__name__


def can_be_made(form: str) -> bool:
    name, _, factory = form.partition(" ")
    if name == "numbers":
        return factory in (*array.typecodes,)
    if name in ("memory", "queue", "flag"):
        return False
    return ":" not in form and (name != "defaultdict" or not factory or factory in _FACTORIES)


def make(kind: str, form: str) -> Any:
    """An empty collection; `KeyError` where there is no such kind."""
    name, _, detail = form.partition(" ")
    if name == "defaultdict":
        return collections.defaultdict(_FACTORIES[detail] if detail else None)
    if name == "deque":
        return deque(maxlen=int(detail) if detail else None)
    if name == "numbers":
        return array.array(detail)
    return _SPECIAL.get(name, COLLECTIONS[kind])()


def fields_of(value: Any) -> dict[str, Any]:
    if isinstance(value, ContextVar):
        held = value.get(_UNSET)
        return {} if held is _UNSET else {"value": held}
    own = {"args": value.args} if isinstance(value, BaseException) else {}
    return own | dict_of(value) | dict(slots_of(value))


def called_for(attribute: Any) -> tuple[Any, ...]:
    """The functions behind an attribute of a class; the attribute itself if it is no descriptor."""
    if isinstance(attribute, staticmethod | classmethod):
        return (attribute.__func__,)
    if isinstance(attribute, property):
        return (attribute.fget, attribute.fset, attribute.fdel)
    if isinstance(attribute, functools.cached_property):
        return (attribute.func,)
    return (attribute,)


def data_of_class(kind: type) -> dict[str, Any]:
    """The attributes of a class; for a method or a property, its function."""
    found = {}
    for name, value in list(vars(kind).items()):
        if isinstance(value, staticmethod | classmethod):
            value = value.__func__  # noqa: PLW2901
        elif isinstance(value, property):
            value = value.fget  # noqa: PLW2901
        is_data = not name.startswith("__") and not hasattr(type(value), "__get__")
        if is_data or isinstance(value, (types.FunctionType, CACHED)):
            found[name] = value
    return found


def set_field(holder: Any, name: str, value: Any) -> None:
    if isinstance(holder, types.FunctionType) and name in holder.__code__.co_freevars:
        index = holder.__code__.co_freevars.index(name)
        (holder.__closure__ or ())[index].cell_contents = value
    elif isinstance(holder, types.ModuleType):
        vars(holder)[name] = value
    elif isinstance(holder, ContextVar):
        holder.set(value)
    elif isinstance(holder, ProcessSettings):
        holder.put(name, value)
    elif isinstance(holder, type):
        type.__setattr__(holder, name, value)
    elif isinstance(getattr(type(holder), name, None), _OF_C):
        object.__setattr__(holder, name, value)
    else:
        # Without `__setattr__`: a library has done its part when the script set the attribute.
        dict_of(holder)[name] = value


_SEQUENCES: tuple[Iterable[Any], ...] = ([], (), "a", "\u00e4", range(0))
_INDEXED: tuple[type, ...] = tuple(type(iter(each)) for each in _SEQUENCES)
_ITERATORS: tuple[type, ...] = (*_INDEXED, itertools.count, itertools.cycle)
_LONGEST = 10_000_000
_ENDED = -1

Position = tuple[Any, ...]


def has_position(kind: type) -> bool:
    return kind in _ITERATORS or issubclass(kind, io.IOBase)


def position_of(iterator: Any) -> Position | None:
    """Where an iterator stands, as `move_iterator` takes it; None if that is not known."""
    kind = type(iterator)
    if issubclass(kind, io.IOBase):
        return _place_in(iterator)
    if kind is itertools.count:
        return _numbers(repr(iterator))
    if kind is itertools.cycle:
        return _turn_of(iterator)
    return (_index_of(iterator),) if kind in _INDEXED else None


def _place_in(file: Any) -> Position | None:
    if file.closed or not file.seekable() or file.writable():
        return None
    try:
        return (file.tell(),)
    except OSError:
        # It is being read line by line.
        return None


def _numbers(text: str) -> Position | None:
    try:
        value = ast.literal_eval(text.removeprefix("count"))
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, tuple) else (value, 1)


def _turn_of(cycle: Any) -> Position | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        _, (inner,), (seen, is_over) = cycle.__reduce__()
    if type(inner) not in _INDEXED:
        return None
    return (True, _index_of(inner)) if is_over else (False, len(seen))


def _index_of(iterator: Any) -> int:
    _, _, *index = iterator.__reduce__()
    return index[0] if index else _ENDED


def move_iterator(iterator: Any, wanted: Position) -> bool:
    """Moves an iterator to a position; returns whether it is there."""
    if isinstance(iterator, io.IOBase):
        iterator.seek(*wanted)
    elif type(iterator) in _INDEXED:
        (index,) = wanted
        deque(iterator, maxlen=0) if index == _ENDED else iterator.__setstate__(index)
    elif type(iterator) is itertools.count:
        now, step = position_of(iterator) or wanted
        draws = round((wanted[0] - now) / step) if step else 0
        deque(itertools.islice(iterator, max(0, min(draws, _LONGEST))), maxlen=0)
    else:
        for _ in range(_LONGEST):
            if position_of(iterator) == wanted:
                break
            next(iterator)
    return position_of(iterator) == wanted
