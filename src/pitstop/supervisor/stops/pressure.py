"""Shortage of memory or disk, with hysteresis: snapshots are written before they are lost."""

import enum
from collections import deque
from collections.abc import Callable, Iterable
from itertools import pairwise

from pitstop.events import Notice, StopRequested
from pitstop.machine.memory import MemoryPressure
from pitstop.record import Frozen

LOOKAHEAD_SECONDS = 5.0
"""Memory is short when, falling at its present rate, it would be gone in this time."""

_SHORT_SHARE = 20  # short: less is left than a twentieth of what the trainer has
_RELIEF_SHARE = 10

_STALLED, _STALL_RELIEF = 0.2, 0.05
"""Shares of time; systemd-oomd kills at six tenths, after half a minute of it."""

_SWAPPING, _SWAP_RELIEF = 8 << 20, 1 << 20
"""Bytes read back from swap each second, for seconds on end: memory is used that is not there."""

_CHECKPOINTS, _RELIEF_CHECKPOINTS = 2, 3
"""Checkpoints that must still fit; the next is written before the last is removed."""
_DISK_FLOOR_BYTES = 8 << 20  # for what is not a checkpoint: journal, output, records of steps
_LOOK_SECONDS = 1.0
_LASTING_LOOKS = 4
"""A change that is seen in this number of readings in a row is steady; a jump is not."""


class Shortage(enum.Enum):
    """What is short; the value ends the sentence "short of ..."."""

    MEMORY = "memory"
    STALLS = "memory: processes wait for it"
    SWAPPING = "memory: it is swapped in and out"
    DISK = "disk space"


class Reading(Frozen):
    """What there is, and what is needed; None where it is not known."""

    available_bytes: int
    falling_bytes: int  # in each of the last seconds, at least
    trainer_bytes: int
    stalled_share: float | None = None  # of the time in which all processes waited for memory
    swapping_bytes: int = 0  # in each of the last seconds, at least
    disk_free_bytes: int | None = None
    checkpoint_bytes: int = 0  # size of the last one, 0 before the first


def judge(before: frozenset[Shortage], reading: Reading) -> frozenset[Shortage]:
    """What is short now; what was so `before` remains so until it is relieved."""
    return frozenset(
        each for each in Shortage if _is_short(each, reading, was_short=each in before)
    )


def _is_short(what: Shortage, reading: Reading, *, was_short: bool) -> bool:
    match what:
        case Shortage.MEMORY:
            ahead = reading.available_bytes - LOOKAHEAD_SECONDS * reading.falling_bytes
            return ahead < reading.trainer_bytes // (_RELIEF_SHARE if was_short else _SHORT_SHARE)
        case Shortage.STALLS:
            return (reading.stalled_share or 0.0) >= (_STALL_RELIEF if was_short else _STALLED)
        case Shortage.SWAPPING:
            return reading.swapping_bytes >= (_SWAP_RELIEF if was_short else _SWAPPING)
        case Shortage.DISK:
            each_bytes = max(_DISK_FLOOR_BYTES, reading.checkpoint_bytes)
            needed = each_bytes * (_RELIEF_CHECKPOINTS if was_short else _CHECKPOINTS)
            return reading.disk_free_bytes is not None and reading.disk_free_bytes < needed


def describe(shortage: Shortage, reading: Reading) -> str:
    numbers = {
        Shortage.MEMORY: f"{_megabytes(reading.available_bytes)} left, falling by "
        f"{_megabytes(reading.falling_bytes)}/s",
        Shortage.STALLS: f"in {reading.stalled_share or 0.0:.0%} of the last ten seconds",
        Shortage.SWAPPING: f"{_megabytes(reading.swapping_bytes)}/s",
        Shortage.DISK: f"{_megabytes(reading.disk_free_bytes or 0)} left for the run folder, "
        f"{_megabytes(reading.checkpoint_bytes)} per checkpoint",
    }
    return f"short of {shortage.value} ({numbers[shortage]})"


def notice(text: str) -> Notice:
    return Notice(
        "pressure",
        f"{text[:1].upper()}{text[1:]}; the training is saved now and continues.",
        "Use --on-pressure stop to stop it.",
    )


def request(text: str) -> StopRequested:
    return StopRequested(source="pressure", urgency="graceful", reason=text)


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.0f} MB"


class PressureWatch:
    """Reports each shortage once, when it begins."""

    def __init__(self, sample: Callable[[], MemoryPressure]) -> None:
        self._sample = sample
        self._look_at = 0.0
        self._short: frozenset[Shortage] = frozenset()
        self._samples: deque[MemoryPressure] = deque(maxlen=_LASTING_LOOKS)

    def rises(
        self, now_seconds: float, trainer_bytes: Callable[[], int | None], checkpoint_bytes: int
    ) -> str:
        if now_seconds < self._look_at:
            return ""
        self._look_at = now_seconds + _LOOK_SECONDS
        has_bytes = trainer_bytes()
        if has_bytes is None:
            return ""
        self._samples.append(self._sample())
        reading = self._reading(has_bytes, checkpoint_bytes)
        before, self._short = self._short, judge(self._short, reading)
        risen = [each for each in Shortage if each in self._short - before]
        return ", ".join(describe(each, reading) for each in risen)

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
    return max(0, min(changes, default=0))
