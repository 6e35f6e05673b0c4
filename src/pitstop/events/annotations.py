"""Whether a JSON value is what the annotation of a dataclass's field promises.  Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

_NESTED = re.compile(r"(list|tuple|dict)\[(?:str, (?!\.))?(.+?)(?:, \.\.\.)?\]")
_MOST_INTEGER = 1 << 64
"""Of either sign; larger ones become infinite, or an error, where somebody divides."""

_Check = Callable[[Any], bool]


@functools.cache
def checker(annotation: str) -> _Check:
    """The check for values of an annotation, such as "int", "float | None" or "list[str]"."""
    if " | " in annotation:
        checks = [checker(each) for each in annotation.split(" | ")]
        return lambda value: any(check(value) for check in checks)
    nested = _NESTED.fullmatch(annotation)
    if nested is None:
        return _PLAIN[annotation]
    inner = checker(nested[2])
    if nested[1] == "dict":
        return lambda value: isinstance(value, dict) and all(map(inner, value.values()))
    return lambda value: isinstance(value, list) and all(map(inner, value))


def _is_integer(value: Any) -> bool:
    return type(value) is int and -_MOST_INTEGER < value < _MOST_INTEGER


_PLAIN: dict[str, _Check] = {
    "int": _is_integer,
    "float": lambda value: type(value) is float or _is_integer(value),
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: type(value) is bool,
    "None": lambda value: value is None,
    "JsonValue": lambda _: True,
}
