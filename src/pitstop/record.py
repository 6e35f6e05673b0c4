"""Frozen dataclasses that cost little to load, and how they are read from JSON.

`dataclass(frozen=True)` compiles six methods for every class; a `Frozen` compiles its `__init__`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

_Record = TypeVar("_Record")
_Check = Callable[[Any], bool]
MemberReader = Callable[[str, dict[str, Any]], Any]

_NESTED = re.compile(r"(Sequence|list|tuple|dict)\[(?:str, (?!\.))?(.+?)(?:, \.\.\.)?\]")
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


def build(cls: type[_Record], name: str, body: Any, **readers: MemberReader) -> _Record:
    """A record from a JSON object, called `name` in errors; raises `ValueError`."""
    if not isinstance(body, dict):
        raise ValueError(f"its member {name!r} is missing")
    values = {member: read(name, body) for member, read in readers.items()}
    for member, annotation, optional in _members(cls):  # type: ignore[arg-type]
        if member in values or (optional and member not in body):
            continue
        value: Any = body.get(member)
        if not checker(annotation)(value):
            raise ValueError(f"its member '{name}.{member}' cannot be {value!r}")
        values[member] = tuple(value) if annotation.startswith("tuple") else value
    return cls(**values)


@functools.cache
def _members(cls: type[Any]) -> list[tuple[str, str, bool]]:
    return [
        (each.name, str(each.type), (each.default, each.default_factory) != (MISSING, MISSING))
        for each in fields(cls)
    ]


@functools.cache
def checker(annotation: str) -> _Check:
    if " | " in annotation:
        checks = [checker(each) for each in annotation.split(" | ")]
        return lambda value: any(check(value) for check in checks)
    nested = _NESTED.fullmatch(annotation)
    if nested is None:
        return CHECKS[annotation]
    inner = checker(nested[2])
    if nested[1] == "dict":
        return lambda value: isinstance(value, dict) and all(map(inner, value.values()))
    return lambda value: isinstance(value, list) and all(map(inner, value))


def _is_integer(value: Any) -> bool:
    return type(value) is int and -_MOST_INTEGER < value < _MOST_INTEGER


CHECKS: dict[str, _Check] = {
    "int": _is_integer,
    "float": lambda value: type(value) is float or _is_integer(value),
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: type(value) is bool,
    "None": lambda value: value is None,
    "Any": lambda _: True,
    "JsonValue": lambda _: True,
}
"""By annotation; aliases of types have theirs where they are defined."""
