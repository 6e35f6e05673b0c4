"""Memory that gets short: what is in memory only is written before the kernel kills.

A snapshot survives the kernel's killing the trainer, but not that of the whole
container, which is what a scheduler does when its limit is passed.
"""

from __future__ import annotations

from collections.abc import Callable

_LOOK_SECONDS = 1.0
_SHORT_SHARE = 20
"""Short: less is left than a twentieth of what the trainer has."""
_RELIEF_SHARE = 10


class PressureWatch:
    """Looks once a second; tells of every time that memory gets short, once."""

    def __init__(self, available_bytes: Callable[[], int]) -> None:
        self._available_bytes = available_bytes
        self._look_at = 0.0
        self._short = False

    def rises(self, now_seconds: float, trainer_bytes: int | None) -> bool:
        """Whether memory has got short since it last was not.

        Args:
            now_seconds: CLOCK_MONOTONIC.
            trainer_bytes: memory that the trainer has, None when it is gone.
        """
        if trainer_bytes is None or now_seconds < self._look_at:
            return False
        self._look_at = now_seconds + _LOOK_SECONDS
        before = self._short
        share = _RELIEF_SHARE if before else _SHORT_SHARE
        self._short = self._available_bytes() < trainer_bytes // share
        return self._short and not before
