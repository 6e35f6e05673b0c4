"""Calls a function when something can be read."""

from __future__ import annotations

import selectors
from collections.abc import Callable
from typing import Protocol


class Readable(Protocol):
    """Anything with a descriptor."""

    def fileno(self) -> int:
        """The descriptor to watch."""


class EventLoop:
    """A selector whose keys carry their callbacks."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def watch(self, source: Readable, callback: Callable[[], None]) -> None:
        """Calls `callback` whenever `source` can be read."""
        self._selector.register(source, selectors.EVENT_READ, callback)

    def forget(self, source: Readable) -> None:
        """Watches a source no more; to be called before it is closed."""
        self._selector.unregister(source)

    def turn(self, timeout_seconds: float) -> None:
        """Waits for the next readable sources and calls their callbacks once."""
        for key, _ in self._selector.select(timeout_seconds):
            # An earlier callback of this turn may have forgotten this one.
            if self._selector.get_map().get(key.fd) is key:
                key.data()

    def close(self) -> None:
        """Forgets everything."""
        self._selector.close()
