"""What variables are called at their creation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_REPLICA = "/replica_"


class Naming:
    """The names of variables, as the framework that creates them knows them.

    TensorFlow's own names are not unique ("kernel", "Variable").  Keras tells the path of
    a variable while it is created, and how far it has counted in naming layers.

    Attributes:
        told: Keras tells.
    """

    def __init__(self) -> None:
        self.told = False
        self._here = threading.local()
        self._read: Callable[[], dict[str, int]] = dict
        self._write: Callable[[Mapping[str, int]], None] = lambda _: None

    def use_counts(
        self, read: Callable[[], dict[str, int]], write: Callable[[Mapping[str, int]], None]
    ) -> None:
        """Learns how a framework counts the names that it gives by itself."""
        self.told = True
        self._read, self._write = read, write

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
        return self._read()

    def advance(self, counts: Mapping[str, int]) -> None:
        """Goes on with the names where another process was; never back."""
        now = self._read()
        self._write({kind: max(count, now.get(kind, 0)) for kind, count in counts.items()})
