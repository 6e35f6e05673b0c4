"""Content of a node as values that do not change any more, and their marks in JSON."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pitstop.engine.values.python_state import PLAIN_KINDS, Arrays, Marked, Marks, decode

OF_GRAPH = "a tensor of a graph"
BARE = frozenset({type(None), bool, int, float, str, bytes})
"""Classes whose values need no freezing."""
_MOST_ITEMS = 64


@dataclass(frozen=True)
class Ref(Marked):
    """Another node, by its name."""

    name: str
    mark = "$ref"


@dataclass(frozen=True)
class Opaque(Marked):
    """A value that is not saved; `fingerprint` changes with it, None if that cannot be noticed."""

    name: str
    fingerprint: str | None = None
    mark = "$opaque"

    @property
    def is_of_graph(self) -> bool:
        """Whether it has no value, because it is made again by each trace."""
        return self.name == OF_GRAPH


@dataclass(frozen=True)
class Record(Marked):
    """A tuple of a class of the script, such as a named one; its items are frozen."""

    form: str
    items: tuple[Any, ...]
    mark = "$record"

    @property
    def carried(self) -> list[Any]:
        return [self.form, *self.items]


@dataclass(frozen=True)
class Function(Marked):
    """A function, by the name of its module and its own."""

    name: str
    mark = "$function"


class Tensor(Marked):
    """A tensor of the framework, by its value: an array, or strings in nested tuples."""

    mark = "$tensor"

    def __init__(self, value: Any) -> None:
        has_strings = isinstance(value, np.ndarray) and value.dtype.hasobject
        self.value = _in_tuples(value.tolist()) if has_strings else value

    @property
    def carried(self) -> Any:
        return self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tensor) and _bits(self.value) == _bits(other.value)

    __hash__ = None  # type: ignore[assignment]


def _in_tuples(items: Any) -> Any:
    return tuple(map(_in_tuples, items)) if isinstance(items, list) else items


def _bits(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    return value


_MARKS: Marks = {
    "$ref": Ref,
    "$opaque": Opaque,
    "$function": Function,
    "$tensor": Tensor,
    "$record": lambda parts: Record(parts[0], tuple(parts[1:])),
}


def from_json(value: Any, arrays: Arrays) -> Any:
    return decode(value, arrays, _MARKS)


def with_refs(form: Any, name_of: Callable[[str], str]) -> Any:
    """Coded content, with `name_of` applied to the name in each reference."""
    if isinstance(form, list):
        return [with_refs(each, name_of) for each in form]
    match form:
        case {"$ref": str(name)}:
            return {"$ref": name_of(name)}
        case dict():
            return {key: with_refs(each, name_of) for key, each in form.items()}
    return form


def has_marks(value: Any) -> bool:
    if type(value) is tuple:
        return any(map(has_marks, value))
    return isinstance(value, Marked)


def thaw(value: Any, resolve: Callable[[Any], Any]) -> Any:
    """The value that frozen content stands for; `resolve` returns the value of a mark."""
    if type(value) is tuple:
        return tuple(thaw(item, resolve) for item in value)
    return resolve(value) if has_marks(value) else value


def refers_to(content: Any, name: str) -> bool:
    items = list(content.values()) if isinstance(content, dict) else content
    inner = items if isinstance(items, list) else _items_of(items)
    return items == Ref(name) or any(refers_to(each, name) for each in inner)


def opaque_in(value: Any) -> Opaque | None:
    if isinstance(value, Opaque):
        return value
    items = _items_of(value)
    if not items or are_bare(items):
        return None
    return next((each for each in map(opaque_in, items) if each is not None), None)


def are_bare(items: Iterable[Any]) -> bool:
    return BARE.issuperset(map(type, items))


def is_plain(value: Any) -> bool:
    kind = type(value)
    if kind in BARE or kind in PLAIN_KINDS:
        return True
    if kind is frozenset:
        return all(map(is_plain, value))
    return issubclass(kind, np.generic) and not value.dtype.hasobject


def same(one: Any, other: Any) -> bool:
    """Whether frozen values are equal, and of the same classes: 0, False, 0.0 and -0.0 are four.

    Of a long list only the values are compared, which is faster.
    """
    if one is other:
        return True
    if one != other or type(one) is not type(other):
        return False
    if type(one) in (list, tuple):
        return len(one) > _MOST_ITEMS or all(map(same, one, other))
    return type(one) is not float or bool(one) or str(one) == str(other)


def addresses_in(value: Any, named: frozenset[str]) -> bool:
    """Whether frozen content has a number that may be an `id` or a `hash`, which differ next time.

    Objects are at multiples of 16 between 2**46 and 2**48; their hash is a 16th of it.
    """
    if type(value) is int:
        is_id = 1 << 46 <= value < 1 << 48 and value % 16 == 0
        return (is_id and "id" in named) or (1 << 42 <= value < 1 << 44 and "hash" in named)
    items = list(value.values()) if isinstance(value, dict) else value
    return isinstance(items, list | tuple) and any(addresses_in(each, named) for each in items)


def agrees(one: Any, other: Any) -> bool:
    """Whether two frozen values are equal; of opaque values in `other`, only the names count."""
    if isinstance(other, Opaque):
        return isinstance(one, Opaque) and one.name == other.name
    if opaque_in(other) is None:
        return same(one, other)
    pairs = zip(_items_of(one), _items_of(other), strict=False)
    is_alike = type(one) is type(other) and len(_items_of(one)) == len(_items_of(other))
    return is_alike and all(agrees(*pair) for pair in pairs)


def by_place(items: Any, kind: str) -> dict[Any, Any]:
    """Items of a collection by the place at which they are found again: a key or an index."""
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
