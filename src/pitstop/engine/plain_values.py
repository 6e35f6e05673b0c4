"""Immutable values of the standard library, each as a short list of plain ones."""

from __future__ import annotations

import datetime
import decimal
import fractions
import pathlib
import uuid
from collections.abc import Callable, Mapping
from typing import Any

_Parts = Callable[[Any], list[Any]]
_Make = Callable[..., Any]


def _of_path(path: pathlib.PurePath) -> list[Any]:
    return [str(path)]


def _of_time(value: Any) -> list[Any]:
    return [value.isoformat()]


_FORMS: Mapping[type, tuple[_Parts, _Make]] = {
    complex: (lambda value: [value.real, value.imag], complex),
    range: (lambda value: [value.start, value.stop, value.step], range),
    slice: (lambda value: [value.start, value.stop, value.step], slice),
    decimal.Decimal: (lambda value: [str(value)], decimal.Decimal),
    fractions.Fraction: (lambda value: [value.numerator, value.denominator], fractions.Fraction),
    datetime.timedelta: (
        lambda value: [value.days, value.seconds, value.microseconds],
        datetime.timedelta,
    ),
    datetime.date: (_of_time, datetime.date.fromisoformat),
    datetime.datetime: (_of_time, datetime.datetime.fromisoformat),
    pathlib.PosixPath: (_of_path, pathlib.PosixPath),
    pathlib.PurePosixPath: (_of_path, pathlib.PurePosixPath),
    uuid.UUID: (lambda value: [str(value)], uuid.UUID),
}
KINDS = frozenset(_FORMS)
_BY_NAME = {kind.__name__: make for kind, (_, make) in _FORMS.items()}


def parts_of(value: Any) -> list[Any]:
    """The name of its kind, and what it is made of again."""
    parts, _ = _FORMS[type(value)]
    return [type(value).__name__, *parts(value)]


def made_of(name: str, *parts: Any) -> Any:
    """The value that `parts_of` was given.

    Raises:
        LookupError, TypeError, ValueError: it is none of ours.
    """
    return _BY_NAME[name](*parts)
