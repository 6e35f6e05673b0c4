"""Waits until something can be read, and tells what was read."""

from __future__ import annotations

import selectors
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from pitstop.supervisor.lifecycle.occurrences import Occurrence

Reader = Callable[[], Iterable[Occurrence] | None]


class Readable(Protocol):
    """Anything with a descriptor."""

    def fileno(self) -> int: ...


class EventLoop:
    """A selector whose keys carry their readers."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def watch(self, source: Readable, reader: Reader) -> None:
        self._selector.register(source, selectors.EVENT_READ, reader)

    def forget(self, source: Readable) -> None:
        """Watches a source no more; to be called before it is closed."""
        self._selector.unregister(source)

    def turn(self, timeout_seconds: float) -> Iterator[Occurrence]:
        """Waits for the next readable sources; gives what each of them tells.

        The caller handles an occurrence before it asks for the next.
        """
        for key, _ in self._selector.select(timeout_seconds):
            # What an earlier source told may have made somebody forget this one.
            if self._selector.get_map().get(key.fd) is key:
                yield from key.data() or ()

    def close(self) -> None:
        self._selector.close()
