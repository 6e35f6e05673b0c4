"""Content of a node as values that do not change any more, and their JSON form.

{"$ref": name}        another node
{"$opaque": type}     something that is not carried; what is there stays there
{"$items": [...]}     a tuple that holds one of these
{"$tensor": array}    a tensor of the framework
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
        is_elsewhere: it is saved by other means.
    """

    type_name: str
    fingerprint: str | None = None
    is_elsewhere: bool = False


class Tensor:
    """A tensor of the framework, by its value."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tensor)
            and self.array.dtype == other.array.dtype
            and self.array.shape == other.array.shape
            and self.array.tobytes() == other.array.tobytes()
        )

    __hash__ = None  # type: ignore[assignment]


Resolve = Callable[[Any], Any]
"""What a `Ref`, an `Opaque` or a `Tensor` stands for in this process."""


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
        case Tensor():
            return {"$tensor": encoder.encode(value.array)}
        case tuple() if any(map(_is_marked, value)):
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
        case {"$tensor": array}:
            return Tensor(decode(array, arrays))
        case {"$items": list(items)}:
            return tuple(from_json(item, arrays) for item in items)
    return decode(value, arrays)


def _is_marked(value: Any) -> bool:
    return isinstance(value, Ref | Opaque | Tensor) or (
        type(value) is tuple and any(map(_is_marked, value))
    )


def thaw(value: Any, resolve: Resolve) -> Any:
    """The value that frozen content stands for."""
    if isinstance(value, Ref | Opaque | Tensor):
        return resolve(value)
    if type(value) is tuple:
        return tuple(thaw(item, resolve) for item in value)
    return value


def is_opaque(value: Any) -> bool:
    """Whether a value, or one in a tuple, is not carried."""
    return isinstance(value, Opaque) or (type(value) is tuple and any(map(is_opaque, value)))


def missing_in(value: Any) -> Opaque | None:
    """What in a value is saved nowhere; None where nothing is missing."""
    if isinstance(value, Opaque):
        return None if value.is_elsewhere else value
    inner = value if type(value) is tuple else ()
    return next((each for each in map(missing_in, inner) if each is not None), None)
