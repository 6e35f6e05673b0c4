"""The closures that were scheduled and have not ended: no more than a stop can wait for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

_SECONDS = 2.0
_LEAST = 2
"""For each worker: the closure that it runs, and its next."""
_SMOOTHING = 0.1
_LONGEST_PAUSE_SECONDS = 10.0
_LOOK_SECONDS = 0.05


class Backlog:
    """Holds `schedule` back while more is under way than the workers do in two seconds.

    TensorFlow queues 262,144 closures, which may be hours: whoever stops the training would wait
    for them.  The workers always have their next closure.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open: set[Any] = set()
        self._early: WeakSet[Any] = WeakSet()
        self._least = _LEAST
        self._interval_seconds = 0.0
        self._ended_seconds = 0.0

    def begin(self, workers: int) -> None:
        """A coordinator has so many workers."""
        self._least = max(self._least, _LEAST * workers)

    def scheduled(self, remote: Any) -> None:
        """One more closure, by where its result will be."""
        with self._changed:
            if remote in self._early:
                self._early.remove(remote)
            else:
                self._open.add(remote)

    def ended(self, remote: Any) -> None:
        """A closure has ended; any thread may say so."""
        with self._changed:
            if remote in self._open:
                self._open.remove(remote)
                self._changed.notify()
            else:
                # `schedule` has not returned yet.
                self._early.add(remote)
            self._measure(time.monotonic())

    def clear(self) -> None:
        """Nothing is under way any more."""
        with self._changed:
            self._open.clear()
            self._ended_seconds = 0.0

    def wait(self, is_done: Callable[[], bool], is_stopping: Callable[[], bool]) -> None:
        """Waits until one more may be scheduled.

        Args:
            is_done: asks TensorFlow whether all have ended; what one has raised comes from it.
            is_stopping: nothing is to be waited for any more.

        Raises:
            Exception: what a closure has raised.
        """
        while not self._has_room(_LOOK_SECONDS) and not is_stopping():
            # What ended before anybody listened, or failed, is not told.
            if is_done():
                self.clear()

    def _has_room(self, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: len(self._open) < self._most, seconds)

    @property
    def _most(self) -> int:
        if not self._interval_seconds:
            return self._least
        return max(self._least, int(_SECONDS / self._interval_seconds))

    def _measure(self, now_seconds: float) -> None:
        before, self._ended_seconds = self._ended_seconds, now_seconds
        if before:
            seconds = min(now_seconds - before, _LONGEST_PAUSE_SECONDS)
            first = not self._interval_seconds
            share = 1.0 if first else _SMOOTHING
            self._interval_seconds += share * (seconds - self._interval_seconds)
