"""Frozen dataclasses that cost little to load.

`dataclass(frozen=True)` compiles six methods for every class, which was most of what a command cost
before it did anything.  A record compiles its `__init__`, and shares the others with all records.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any, TypeVar, dataclass_transform

_Record = TypeVar("_Record")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[_Record]) -> type[_Record]:
    """A decorator: the class becomes a dataclass whose attributes are set once, by `__init__`."""
    own = {name for name, value in vars(cls).items() if value is not None}
    made = dataclass(repr=False, eq=False)(cls)
    for name, method in _SHARED.items():
        if name not in own:
            setattr(made, name, method)
    return made


class _SharedMethods:
    __match_args__: tuple[str, ...]

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


_SHARED = {method.__name__: method for method in vars(_SharedMethods).values() if callable(method)}


def _values(record: Any) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in record.__match_args__)
