"""Python values as JSON and arrays, without pickle: "Coded values" in docs/format.md.

Anything that has no form there is refused by name: an object that only its class can rebuild has no
place in a checkpoint.
"""

import ast
import base64
import datetime
import decimal
import fractions
import functools
import math
import pathlib
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from pitstop.engine.values import set_order

_FORMS: Mapping[type, tuple[Callable[[Any], list[Any]], Callable[..., Any]]] = {
    complex: (lambda value: [value.real, value.imag], complex),
    range: (lambda value: [value.start, value.stop, value.step], range),
    slice: (lambda value: [value.start, value.stop, value.step], slice),
    fractions.Fraction: (lambda value: [value.numerator, value.denominator], fractions.Fraction),
    datetime.timedelta: (
        lambda value: [value.days, value.seconds, value.microseconds],
        datetime.timedelta,
    ),
    datetime.date: (lambda value: [value.isoformat()], datetime.date.fromisoformat),
    datetime.datetime: (lambda value: [value.isoformat()], datetime.datetime.fromisoformat),
    **{
        kind: (lambda value: [str(value)], kind)
        for kind in (pathlib.PosixPath, pathlib.PurePosixPath, uuid.UUID, decimal.Decimal)
    },
}
"""Immutable values of the standard library: each as plain ones, and how it is made of them."""

PLAIN_KINDS = frozenset(_FORMS)
_BY_NAME = {kind.__name__: make for kind, (_, make) in _FORMS.items()}
_NANS = {"numpy.nan": np.nan, "math.nan": math.nan}
"""Restored as the same objects: a NaN equals nothing, so collections find it by identity."""
_LONG_LIST = 64
_AS_THEY_ARE = frozenset({type(None), bool, int, str})
_ONLY_FLOATS = frozenset({float})

Marks = Mapping[str, Callable[[Any], Any]]
Arrays = Mapping[str, memoryview]  # the bytes that are stored beside the tensors, by name


class Marked:
    """A value that is coded as an object with one member: its mark, and what is `carried`."""

    mark: ClassVar[str]
    name: str

    @property
    def carried(self) -> Any:
        return self.name


class NotPortable(TypeError):
    """A value that JSON and arrays cannot carry."""

    def __init__(self, where: str, type_name: str) -> None:
        super().__init__(f"{where or 'the value'} is a {type_name}")
        self.where = where
        self.type_name = type_name


class Encoder:
    """Turns values into JSON, collecting arrays under names with one prefix."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}

    def encode(self, value: Any) -> Any:
        try:
            return self._encode(value, "")
        except RecursionError:
            raise NotPortable("", f"{_name_of(type(value))} nested too deeply") from None

    def _encode(self, value: Any, where: str) -> Any:
        kind = type(value)
        if kind in _AS_THEY_ARE:
            return value
        if kind is float:
            return value if math.isfinite(value) else {"$float": _name_of_float(value)}
        if kind is bytes:
            return {"$bytes": base64.b64encode(value).decode()}
        if kind is frozenset and not set_order.is_frozen_again(value):
            raise NotPortable(where, "frozenset that comes in another order")
        if kind in _COLLECTIONS:
            mark, items_of, _ = _COLLECTIONS[kind]
            return {mark: self._items(items_of(value), where)}
        if kind in (list, dict):
            return (self._list if kind is list else self._dict)(value, where)
        dtype = _dtype_name(value.dtype) if isinstance(value, np.ndarray | np.generic) else ""
        if dtype and kind is np.ndarray:
            axes = _axes_of(value)
            stored = self._store(value.transpose(axes))
            turned = [] if axes == [*range(value.ndim)] else [axes]
            return {"$array": [stored, dtype, list(value.shape), *turned]}
        if dtype and isinstance(value, np.generic):
            return {"$scalar": [dtype, base64.b64encode(value.tobytes()).decode()]}
        if isinstance(value, Marked):
            return {value.mark: self._encode(value.carried, where)}
        raise NotPortable(where, _name_of(kind))

    def _store(self, array: np.ndarray[Any, Any]) -> str:
        name = f"{self._prefix}{len(self.arrays):04d}"
        # A copy, because the caller goes on changing the array after the cut.
        kept = np.array(array, order="C", copy=True)
        self.arrays[name] = np.frombuffer(kept, np.uint8) if array.dtype.names else kept
        return name

    def _list(self, value: list[Any], where: str) -> Any:
        if len(value) >= _LONG_LIST and _ONLY_FLOATS.issuperset(map(type, value)):
            return {"$floats": self._store(np.array(value, np.float64))}
        return self._items(value, where)

    def _items(self, value: Any, where: str) -> list[Any]:
        if _AS_THEY_ARE.issuperset(map(type, value)):
            return list(value)
        return [self._encode(item, f"{where}[{index}]") for index, item in enumerate(value)]

    def _dict(self, value: dict[Any, Any], where: str) -> Any:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: self._encode(item, f"{where}[{key!r}]") for key, item in value.items()}
        pairs = [
            [self._encode(key, f"{where} key"), self._encode(item, f"{where}[{key!r}]")]
            for key, item in value.items()
        ]
        return {"$dict": pairs}


def _name_of_float(value: float) -> str:
    return next((name for name, each in _NANS.items() if each is value), repr(value))


def _name_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


NOT_LITERAL = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError)
"""What `ast.literal_eval` raises, by its documentation."""


@functools.lru_cache(maxsize=256)
def _dtype_name(dtype: np.dtype[Any]) -> str:
    """A name that stands for this dtype alone; empty for objects.

    Of a structure, the description that NumPy's files have.
    """
    described = repr(np.lib.format.dtype_to_descr(dtype)) if dtype.names else dtype.str
    names = () if dtype.hasobject else (described, dtype.name)
    return next((name for name in names if _dtype_of(name) == dtype), "")


def _dtype_of(name: str) -> np.dtype[Any] | None:
    try:
        described: Any = ast.literal_eval(name) if name[:1] == "[" else name
        return np.lib.format.descr_to_dtype(described)
    except NOT_LITERAL:
        return None


_COLLECTIONS: dict[type, tuple[str, Callable[[Any], list[Any]], Callable[[list[Any]], Any]]] = {
    tuple: ("$tuple", list, tuple),
    set: ("$set", lambda items: sorted(items, key=repr), set),
    frozenset: ("$frozenset", set_order.items_of, set_order.frozen),
    deque: (
        "$deque",
        lambda value: [*value, value.maxlen],
        lambda items: deque(items[:-1], maxlen=items[-1]),
    ),
    **dict.fromkeys(
        PLAIN_KINDS,
        (
            "$value",
            lambda value: [type(value).__name__, *_FORMS[type(value)][0](value)],
            lambda items: _BY_NAME[items[0]](*items[1:]),
        ),
    ),
}
_MADE: Marks = {
    **{mark: make for mark, _, make in _COLLECTIONS.values()},
    "$float": lambda name: _NANS.get(name) or float(name),
    "$bytes": base64.b64decode,
    "$scalar": lambda parts: _array(base64.b64decode(parts[1]), parts[0], ())[()],
    "$dict": dict,
}


def decode(value: Any, arrays: Arrays, marks: Marks = MappingProxyType({})) -> Any:
    """What `Encoder.encode` was given, with more `marks`; `ValueError` for an unknown form."""
    try:
        return _decode(value, arrays, {**_MADE, **marks})
    except (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"a saved value is malformed: {error!r}") from error


def _decode(value: Any, arrays: Arrays, marks: Marks) -> Any:
    if isinstance(value, list):
        return [_decode(item, arrays, marks) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and next(iter(value)).startswith("$"):
        return _decode_marked(*next(iter(value.items())), arrays, marks)
    return {key: _decode(item, arrays, marks) for key, item in value.items()}


def _decode_marked(mark: str, value: Any, arrays: Arrays, marks: Marks) -> Any:
    if mark == "$array":
        name, dtype, shape, *turned = value
        axes = turned[0] if turned else [*range(len(shape))]
        stored = _array(arrays[name], dtype, [shape[axis] for axis in axes])
        return stored.transpose(np.argsort(axes))
    if mark == "$floats":
        data = arrays[value]
        return _array(data, "<f8", [len(data) // 8]).tolist()
    if mark not in marks:
        raise ValueError(f"unknown mark {mark}")
    return marks[mark](_decode(value, arrays, marks))


def _axes_of(array: np.ndarray[Any, Any]) -> list[int]:
    """The axes as they follow each other in memory, on which the last bits of a sum depend."""
    return sorted(range(array.ndim), key=lambda axis: -array.strides[axis])


def _array(data: bytes | memoryview, dtype: str, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    kind = _dtype_of(dtype)
    if kind is None or kind.hasobject:
        raise ValueError(f"arrays of type {dtype} are not supported")
    return np.ndarray(tuple(shape), kind, data).copy()
