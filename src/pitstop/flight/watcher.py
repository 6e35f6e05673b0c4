"""Reads something again and again in a thread of its own, because it may not answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

_COST_SHARE = 0.0005
"""A reading is repeated so seldom that it takes no more than this share of the time."""


class Watcher(Generic[T]):
    """The newest of many readings; whoever asks never waits.

    A file system whose server is gone, or a broken GPU, can hold a reading up for ever: the
    thread is left behind then, and everything else goes on.  It replaces `latest` as a whole.
    """

    def __init__(self, name: str, read: Callable[[], T], initial: T, every_seconds: float) -> None:
        self.latest = initial
        self._read = read
        self._every_seconds = every_seconds
        self._began_at: float | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def waits_seconds(self) -> float:
        """How long the present reading has taken by now; 0 when none is under way."""
        began_at = self._began_at
        return 0.0 if began_at is None else time.monotonic() - began_at

    def close(self, patience_seconds: float = 0.0) -> None:
        """Reads no more; waits for a reading that is under way no longer than this."""
        self._closed.set()
        self._thread.join(patience_seconds)

    def _work(self) -> None:
        wait_seconds = 0.0
        while not self._closed.wait(wait_seconds):
            self._began_at = time.monotonic()
            cpu = time.thread_time()
            self.latest = self._read()
            self._began_at = None
            wait_seconds = max(self._every_seconds, (time.thread_time() - cpu) / _COST_SHARE)
