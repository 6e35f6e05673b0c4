"""Snapshots that must reach the disk before another one takes their place."""

from __future__ import annotations

import time
from collections.abc import Callable

from pitstop.link.beacon import Beacon

_MOST_SECONDS = 120.0
_POLL_SECONDS = 0.002


class Durability:
    """Waits for the persister, but not for one that is gone or that cannot."""

    def __init__(self, beacon: Beacon, is_connected: Callable[[], bool]) -> None:
        self._beacon = beacon
        self._is_connected = is_connected
        self._sequence = 0
        self._until_seconds = 0.0

    @property
    def pending(self) -> bool:
        """Whether the snapshot that matters is still on its way."""
        if not self._is_connected() or self._beacon.settled() >= self._sequence:
            return False
        return time.monotonic() < self._until_seconds

    def expect(self, sequence: int) -> None:
        """This snapshot matters: the persister has been asked for it."""
        self._sequence = sequence
        self._until_seconds = time.monotonic() + _MOST_SECONDS

    def wait(self, patient: Callable[[], bool], most_seconds: float = _MOST_SECONDS) -> None:
        """Returns when nothing is pending any more, or when patience ends."""
        give_up_at = time.monotonic() + most_seconds
        while self.pending and patient() and time.monotonic() < give_up_at:
            time.sleep(_POLL_SECONDS)
