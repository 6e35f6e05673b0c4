"""What variables are called at their creation."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_REPLICA = "/replica_"

_Read = Callable[[], dict[str, int]]
_Write = Callable[[Mapping[str, int]], None]


def path_of(variable: Any) -> str:
    """Of a `tf.Variable`, or of a variable of Keras 3, which keeps its path beside its name."""
    return str(variable.path if _is_of_keras(variable) else variable.name.removesuffix(":0"))


def value_of(variable: Any) -> Any:
    """The `tf.Variable` itself, which a variable of Keras 3 holds."""
    return variable.value if _is_of_keras(variable) else variable


def _is_of_keras(variable: Any) -> bool:
    # Not asked of the variable: one that workers add up would read its value for that, with all
    # of them, and it is not looked at by all at the same time.
    return hasattr(type(variable), "path")


def of_replica(path: str, number: int) -> str:
    """As TensorFlow names the variables of a mirrored one: the first has no number."""
    return f"{path}{_REPLICA}{number}" if number else path


class Naming:
    """The names of variables, as the framework that creates them knows them."""

    def __init__(self) -> None:
        self._here = threading.local()
        self._counts: dict[str, tuple[_Read, _Write]] = {}

    def is_told_by(self, package: str) -> bool:
        return package in self._counts

    def use_counts(self, read: _Read, write: _Write, package: str) -> None:
        self._counts[package] = (read, write)

    @contextmanager
    def creating(self, path: str) -> Iterator[None]:
        self._here.path = path
        try:
            yield
        finally:
            self._here.path = ""

    def of(self, variable: Any) -> str:
        own = str(variable.name).removesuffix(":0")
        path = getattr(self._here, "path", "")
        _, replica, number = own.partition(_REPLICA)
        return f"{path}{replica}{number}" if path else own

    def counts(self) -> dict[str, dict[str, int]]:
        return {package: read() for package, (read, _) in self._counts.items()}

    def advance(self, counts: Mapping[str, Mapping[str, int]]) -> None:
        for package, (read, write) in self._counts.items():
            now, before = read(), counts.get(package, {})
            write({kind: max(count, now.get(kind, 0)) for kind, count in before.items()})
