"""What the flight recorder saw of an attempt, as far as rules reason with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pitstop.diagnosis import phrases
from pitstop.flight import series
from pitstop.flight.resources import memory_limit_bytes, memory_place
from pitstop.flight.sample import GpuSample, Sample

_RECENT_SECONDS = 60.0
_MOST_POINTS = 60
_SHORT_SHARE = 0.1
_AMPLE_SHARE = 0.3
_LEAK_SHARE_PER_MINUTE = 0.01
_GROWN_SHARE = 0.2
_SECONDS_PER_MINUTE = 60.0
_LEAST_SECONDS = 180.0
"""Shorter attempts have hardly trained: importing TensorFlow and building a model grow too."""


@dataclass(frozen=True)
class MemoryUse:
    """What the processes of the command occupied, and what more there was.

    Attributes:
        first, last: bytes, at the beginning and at the end.
        per_second: the median slope of the last minute.
        seconds: how long the attempt was looked at.
        limit_bytes: the limit that it meets first, None where none is known.
        limited_by: whose limit that is: "cgroup" or "machine".
        left_bytes: what was left in the end.
    """

    first: float
    last: float
    per_second: float
    seconds: float
    limit_bytes: int | None
    limited_by: str
    left_bytes: int | None

    @property
    def left_share(self) -> float | None:
        """What was left, of the limit; None where one of them is not known."""
        if self.left_bytes is None or not self.limit_bytes:
            return None
        return self.left_bytes / self.limit_bytes

    @property
    def is_short(self) -> bool:
        return self.left_share is not None and self.left_share < _SHORT_SHARE

    @property
    def is_ample(self) -> bool:
        """So much was left that nobody needs to kill for it."""
        return self.left_share is not None and self.left_share > _AMPLE_SHARE

    @property
    def is_growing(self) -> bool:
        """It rose by a good part, and was still rising fast in the end."""
        least = _LEAK_SHARE_PER_MINUTE * (self.limit_bytes or self.last)
        rises = self.per_second * _SECONDS_PER_MINUTE > least
        return (
            self.seconds >= _LEAST_SECONDS
            and rises
            and self.last - self.first > _GROWN_SHARE * self.last
        )

    @property
    def words(self) -> str:
        """`3.1 GB in use, 0.4 GB left of a cgroup's 4.0 GB; it grew by 120 MB a minute`."""
        text = f"{phrases.size(int(self.last))} in use at the last sample"
        if self.left_bytes is not None and self.limit_bytes:
            of = f"the {self.limited_by}'s {phrases.size(self.limit_bytes)}"
            text += f", {phrases.size(self.left_bytes)} left of {of}"
        return f"{text}; {self.growth_words}" if self.is_growing else text

    @property
    def growth_words(self) -> str:
        """How fast it grew, for a memory that grows."""
        rate = phrases.size(int(self.per_second * _SECONDS_PER_MINUTE))
        first, last = phrases.size(int(self.first)), phrases.size(int(self.last))
        return f"it grew from {first} to {last}, by {rate} a minute at the end"


@dataclass(frozen=True)
class FlightRecord:
    """What was seen: nothing, where there is no record of it; `gpus` as they were at the end."""

    memory: MemoryUse | None = None
    gpus: tuple[GpuSample, ...] = ()
    gpu_peak_bytes: Mapping[int, int] = field(default_factory=dict)


NOTHING_RECORDED = FlightRecord()


def of_samples(samples: Sequence[Sample]) -> FlightRecord:
    if not samples:
        return NOTHING_RECORDED
    peaks: dict[int, int] = {}
    for gpu in (gpu for sample in samples for gpu in sample.gpus):
        if gpu.used_bytes is not None:
            peaks[gpu.index] = max(peaks.get(gpu.index, 0), gpu.used_bytes)
    return FlightRecord(_memory(samples), tuple(samples[-1].gpus), peaks)


def _memory(samples: Sequence[Sample]) -> MemoryUse | None:
    points = series.memory(samples)
    if not points:
        return None
    # The very last samples may be of an attempt whose trainer has just gone, or is ending.
    lived = (each for each in reversed(samples) if each.trainer and each.trainer.rss_bytes)
    alive = next(lived, samples[-1])
    since = points[-1].time_seconds - _RECENT_SECONDS
    recent = [each for each in points if each.time_seconds >= since]
    thinned = recent[:: -(-len(recent) // _MOST_POINTS)]
    return MemoryUse(
        first=points[0].value,
        last=points[-1].value,
        per_second=series.trend(thinned).per_second if len(thinned) > 1 else 0.0,
        seconds=samples[-1].time_seconds - samples[0].time_seconds,
        limit_bytes=memory_limit_bytes(alive),
        limited_by=memory_place(alive),
        left_bytes=alive.host.left_bytes,
    )
