"""Looks at memory and disk once a second."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import pairwise

from pitstop.machine.memory import MemoryPressure
from pitstop.supervisor.stops import pressure
from pitstop.supervisor.stops.pressure import Reading, Shortage

_LOOK_SECONDS = 1.0
_LASTING_LOOKS = 4
"""A change that is seen in this number of readings in a row is steady; a jump is not."""


class PressureWatch:
    """Tells of every time that something gets short, once."""

    def __init__(self, sample: Callable[[], MemoryPressure]) -> None:
        self._sample = sample
        self._look_at = 0.0
        self._short: frozenset[Shortage] = frozenset()
        self._samples: deque[MemoryPressure] = deque(maxlen=_LASTING_LOOKS)

    def rises(
        self,
        now_seconds: float,
        trainer_bytes: Callable[[], int | None],
        checkpoint_bytes: int,
    ) -> str:
        """What has got short since it last was not, in words; empty mostly."""
        if now_seconds < self._look_at:
            return ""
        self._look_at = now_seconds + _LOOK_SECONDS
        has_bytes = trainer_bytes()
        if has_bytes is None:
            return ""
        self._samples.append(self._sample())
        reading = self._reading(has_bytes, checkpoint_bytes)
        before, self._short = self._short, pressure.judge(self._short, reading)
        risen = [each for each in Shortage if each in self._short - before]
        return ", ".join(pressure.describe(each, reading) for each in risen)

    def _reading(self, trainer_bytes: int, checkpoint_bytes: int) -> Reading:
        now, steps = self._samples[-1], list(pairwise(self._samples))
        if len(steps) < _LASTING_LOOKS - 1:
            steps = []
        return Reading(
            available_bytes=now.available_bytes,
            falling_bytes=_least(a.available_bytes - b.available_bytes for a, b in steps),
            trainer_bytes=trainer_bytes,
            stalled_share=now.stalled_share,
            swapping_bytes=_least(
                (b.swapped_in_bytes or 0) - (a.swapped_in_bytes or 0) for a, b in steps
            ),
            disk_free_bytes=now.disk_free_bytes,
            checkpoint_bytes=checkpoint_bytes,
        )


def _least(changes: Iterable[int]) -> int:
    """The least of the changes, not below 0; 0 without any."""
    return max(0, min(changes, default=0))
