"""Content of a node as values that do not change any more, and their JSON form.

{"$ref": name}        another node
{"$opaque": type}     something that is not carried; what is there stays there
{"$items": [...]}     a tuple that holds one of these
{"$tensor": array}    a tensor of the framework
{"$record": [class, ...]}   a tuple of a class of the script
{"$function": "module:name"}   a function that an imported module names
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pitstop.engine.python_state import Encoder, decode


@dataclass(frozen=True)
class Ref:
    """Another node, by its name."""

    name: str


@dataclass(frozen=True)
class Opaque:
    """A value that is not carried.

    Attributes:
        type_name: its class.
        fingerprint: changes when the value does; None where nobody can tell.
    """

    type_name: str
    fingerprint: str | None = None


@dataclass(frozen=True)
class Record:
    """A tuple of a class of the script, such as a named one.

    Attributes:
        form: its class.
        items: frozen.
    """

    form: str
    items: tuple[Any, ...]


@dataclass(frozen=True)
class Function:
    """A function that a module names.

    Attributes:
        name: module and name.
    """

    name: str


class Tensor:
    """A tensor of the framework, by its value: an array, or strings in nested tuples."""

    def __init__(self, value: Any) -> None:
        has_strings = isinstance(value, np.ndarray) and value.dtype.hasobject
        self.value = _in_tuples(value.tolist()) if has_strings else value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tensor) and _bits(self.value) == _bits(other.value)

    __hash__ = None  # type: ignore[assignment]


def _in_tuples(items: Any) -> Any:
    return tuple(map(_in_tuples, items)) if isinstance(items, list) else items


def _bits(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    return value


Resolve = Callable[[Any], Any]
"""What a `Ref`, an `Opaque`, a `Record`, a `Function` or a `Tensor` stands for in this process."""


def to_json(value: Any, encoder: Encoder) -> Any:
    """The JSON form of frozen content.

    Raises:
        NotPortable: a plain value in it has none.
    """
    match value:
        case Ref():
            return {"$ref": value.name}
        case Opaque():
            return {"$opaque": value.type_name}
        case Function():
            return {"$function": value.name}
        case Tensor():
            return {"$tensor": encoder.encode(value.value)}
        case Record():
            return {"$record": [value.form, *(to_json(item, encoder) for item in value.items)]}
        case tuple() if has_marks(value):
            return {"$items": [to_json(item, encoder) for item in value]}
    return encoder.encode(value)


def from_json(value: Any, arrays: Mapping[str, memoryview]) -> Any:
    """The content that `to_json` was given.

    Raises:
        ValueError: it is none.
    """
    match value:
        case {"$ref": str(name)}:
            return Ref(name)
        case {"$opaque": str(type_name)}:
            return Opaque(type_name)
        case {"$function": str(name)}:
            return Function(name)
        case {"$tensor": array}:
            return Tensor(decode(array, arrays))
        case {"$record": [str(form), *items]}:
            return Record(form, tuple(from_json(item, arrays) for item in items))
        case {"$items": list(items)}:
            return tuple(from_json(item, arrays) for item in items)
    return decode(value, arrays)


def with_refs(form: Any, name_of: Callable[[str], str]) -> Any:
    """A JSON form whose references have other names."""
    if isinstance(form, list):
        return [with_refs(each, name_of) for each in form]
    match form:
        case {"$ref": str(name)}:
            return {"$ref": name_of(name)}
        case dict():
            return {key: with_refs(each, name_of) for key, each in form.items()}
    return form


def has_marks(value: Any) -> bool:
    """Whether a value, or one in a tuple, is none that the encoder knows."""
    if type(value) is tuple:
        return any(map(has_marks, value))
    return isinstance(value, Ref | Opaque | Record | Function | Tensor)


def thaw(value: Any, resolve: Resolve) -> Any:
    """The value that frozen content stands for."""
    if type(value) is tuple:
        return tuple(thaw(item, resolve) for item in value)
    return resolve(value) if has_marks(value) else value


def opaque_in(value: Any) -> Opaque | None:
    """What in a value is not carried; None where nothing is missing."""
    if isinstance(value, Opaque):
        return value
    return next((each for each in map(opaque_in, _items_of(value)) if each is not None), None)


def agrees(one: Any, other: Any) -> bool:
    """Whether two values are the same, as far as they are carried."""
    if isinstance(other, Opaque):
        return isinstance(one, Opaque) and one.type_name == other.type_name
    if opaque_in(other) is None:
        return bool(one == other)
    pairs = zip(_items_of(one), _items_of(other), strict=False)
    is_alike = type(one) is type(other) and len(_items_of(one)) == len(_items_of(other))
    return is_alike and all(agrees(*pair) for pair in pairs)


def by_place(items: Any, kind: str) -> dict[Any, Any]:
    """Items of a collection by what they are found again by: a dictionary's keys, or an index."""
    if not isinstance(items, list):
        return {}
    return {
        index if kind != "dict" or opaque_in(item[0]) else ("key", item[0]): item
        for index, item in enumerate(items)
    }


def _items_of(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Record):
        return value.items
    return value if type(value) is tuple else ()
