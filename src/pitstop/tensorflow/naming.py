"""What variables are called at their creation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_REPLICA = "/replica_"
_FIRST = "keras"
"""The package whose kinds are saved without its name."""

_Read = Callable[[], dict[str, int]]
_Write = Callable[[Mapping[str, int]], None]


class Naming:
    """The names of variables, as the framework that creates them knows them.

    TensorFlow's own names are not unique ("kernel", "Variable").  Keras tells the path of
    a variable while it is created, and how far it has counted in naming layers.
    """

    def __init__(self) -> None:
        self._here = threading.local()
        self._counts: dict[str, tuple[_Read, _Write]] = {}

    def is_told_by(self, package: str) -> bool:
        """Whether this package tells."""
        return package in self._counts

    def use_counts(self, read: _Read, write: _Write, package: str = _FIRST) -> None:
        """Learns how a package counts the names that it gives by itself."""
        self._counts[package] = (read, write)

    @contextmanager
    def creating(self, path: str) -> Iterator[None]:
        """The variables that are created inside are parts of this one."""
        self._here.path = path
        try:
            yield
        finally:
            self._here.path = ""

    def of(self, variable: Any) -> str:
        """What a variable that was just created is called."""
        own = str(variable.name).removesuffix(":0")
        path = getattr(self._here, "path", "")
        _, replica, number = own.partition(_REPLICA)
        return f"{path}{replica}{number}" if path else own

    def counts(self) -> dict[str, int]:
        """How many names of each kind have been given."""
        found: dict[str, int] = {}
        for package, (read, _) in self._counts.items():
            found |= {_kind(package, kind): count for kind, count in read().items()}
        return found

    def advance(self, counts: Mapping[str, int]) -> None:
        """Goes on with the names where another process was; never back."""
        for package, (read, write) in self._counts.items():
            now = read()
            write(
                {
                    kind: max(counts[_kind(package, kind)], now.get(kind, 0))
                    for kind in _own(package, counts)
                }
            )


def _kind(package: str, kind: str) -> str:
    return kind if package == _FIRST else f"{package}:{kind}"


def _own(package: str, counts: Mapping[str, int]) -> list[str]:
    """The kinds of a package among all that have been counted."""
    if package == _FIRST:
        return [each for each in counts if ":" not in each]
    named = (each.partition(":") for each in counts)
    return [kind for owner, _, kind in named if owner == package]
