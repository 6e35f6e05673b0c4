"""What ends a process that a supervisor watches: asked first, killed after a grace."""

from __future__ import annotations

import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Collection

_NEVER = float("inf")


class WatchedProcess(ABC):
    """A trainer and what came out of it; `killed`: all of it was sent SIGKILL."""

    def __init__(self) -> None:
        self.killed = False
        self._kill_at = _NEVER

    def forward(self, name: str, descendants: Collection[int]) -> None:
        """Hands on the signal that asked for a stop; SIGTERM where none did."""
        self._send(signal.Signals[name] if name else signal.SIGTERM, descendants)

    def terminate(self, descendants: Collection[int], grace_seconds: float) -> None:
        """Asks all of it to end (SIGTERM); the grace counts from here."""
        self._kill_at = time.monotonic() + grace_seconds
        self._send(signal.SIGTERM, descendants)

    def kill(self, descendants: Collection[int]) -> None:
        self._kill_at = _NEVER
        self.killed = True
        self._send(signal.SIGKILL, descendants)

    @property
    def grace_passed(self) -> bool:
        return time.monotonic() >= self._kill_at

    def resume(self, away_seconds: float) -> None:
        self._kill_at += away_seconds

    @abstractmethod
    def _send(self, number: signal.Signals, descendants: Collection[int]) -> None: ...
