"""Frozen dataclasses that cost little to load, and how they are read from JSON.

`dataclass(frozen=True)` compiles six methods for every class; a `Frozen` compiles its `__init__`.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

_Record = TypeVar("_Record")
_MOST_INTEGER = 1 << 64
"""Of either sign; larger ones become infinite, or an error, where somebody divides."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Frozen:
    """Each subclass is a dataclass whose attributes are set once, by `__init__`."""

    __match_args__: tuple[str, ...]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(repr=False, eq=False)(cls)

    def __repr__(self) -> str:
        values = (f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__qualname__}({', '.join(values)})"

    def __eq__(self, other: object) -> bool:
        return _values(self) == _values(other) if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash(_values(self))

    def __setattr__(self, name: str, value: object) -> None:
        if name in self.__dict__ or name not in self.__match_args__:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")


def _values(record: Any) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in record.__match_args__)


class Unfit(ValueError):
    """A value that a member cannot have."""


def build(cls: type[_Record], name: str, body: Any, **known: Any) -> _Record:
    """A record from a JSON object, called `name` in errors; raises `ValueError`.

    Members that the class does not have are passed over; `known` are not read from the object.
    """
    if not isinstance(body, dict):
        raise ValueError(f"its member {name!r} is missing")
    values = dict(known)
    for member, kind, optional in _members(cls):  # type: ignore[arg-type]
        if member in values or (optional and member not in body):
            continue
        value = body.get(member)
        try:
            values[member] = read(kind, member, value)
        except Unfit:
            raise ValueError(f"its member '{name}.{member}' cannot be {value!r}") from None
    return cls(**values)


@functools.cache
def _members(cls: type[Any]) -> list[tuple[str, Any, bool]]:
    kinds = get_type_hints(cls, include_extras=True)
    return [
        (each.name, kinds[each.name], (each.default, each.default_factory) != (MISSING, MISSING))
        for each in fields(cls)
    ]


def read(kind: Any, name: str, value: Any) -> Any:
    """The value of this type that a JSON value is; raises `ValueError`."""
    if (read_plain := _PLAIN.get(kind)) is not None:
        return read_plain(name, value)
    origin, inner = _parts(kind)
    if origin is Annotated:
        try:
            return inner[1](name, value)
        except (TypeError, AttributeError):
            raise Unfit from None
    if origin in (Union, UnionType):
        for each in inner:
            try:
                return read(each, name, value)
            except ValueError:
                continue
    if origin in (dict, Mapping) and isinstance(value, dict):
        return {key: read(inner[1], key, each) for key, each in value.items()}
    if origin in (list, tuple, Sequence) and isinstance(value, list):
        kinds = inner if origin is tuple and inner[-1] is not ... else inner[:1] * len(value)
        items = [read(each, name, item) for each, item in zip(kinds, value, strict=True)]
        return tuple(items) if origin is tuple else items
    if isinstance(kind, type) and issubclass(kind, Frozen):
        return build(kind, name, value)
    raise Unfit


@functools.cache
def _parts(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    return get_origin(kind), get_args(kind)


def fitting(fits: Callable[[Any], bool]) -> Callable[[str, Any], Any]:
    """Reads values that stand for themselves, where they fit; an `Annotated` type names it."""

    def read_plain(_: str, value: Any) -> Any:
        if not fits(value):
            raise Unfit
        return value

    return read_plain


def _is_integer(value: Any) -> bool:
    return type(value) is int and -_MOST_INTEGER < value < _MOST_INTEGER


_PLAIN: Mapping[Any, Callable[[str, Any], Any]] = {
    int: fitting(_is_integer),
    float: fitting(lambda value: type(value) is float or _is_integer(value)),
    str: fitting(lambda value: isinstance(value, str)),
    bool: fitting(lambda value: type(value) is bool),
    NoneType: fitting(lambda value: value is None),
    Any: lambda _, value: value,
}
