"""Leaves the disk and the memory to the training half of the time."""

from __future__ import annotations

import time
from collections.abc import Callable


class Pace:
    """Waits behind each piece as long as the piece took, while nothing is urgent."""

    def __init__(
        self,
        urgent: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._urgent = urgent
        self._clock = clock
        self._wait = wait
        self._since_seconds = clock()
        self.waited_seconds = 0.0

    def after_piece(self) -> None:
        """A piece was written; returns when the next one may be."""
        took_seconds = self._clock() - self._since_seconds
        if not self._urgent():
            self._wait(took_seconds)
            self.waited_seconds += took_seconds
        self._since_seconds = self._clock()
