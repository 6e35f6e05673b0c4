"""The memory of an attempt in its last moments, as the flight recorder saw it."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.diagnosis import phrases
from pitstop.flight.summary import Summary

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
        last_bytes, peak_bytes: occupied when it was looked at last, and at the most.
        first_bytes: when it was looked at first.
        limit_bytes: what there is, `limited_by` "cgroup" or "machine".
        left_bytes: what could still be taken when it was looked at last.
        bytes_per_second: how fast it grew in the end.
        seconds: how long it was looked at.
    """

    first_bytes: float
    last_bytes: float
    peak_bytes: float
    limit_bytes: int | None
    limited_by: str
    left_bytes: int | None
    bytes_per_second: float
    seconds: float

    @classmethod
    def of(cls, flight: Summary | None) -> MemoryUse | None:
        if flight is None or flight.memory is None:
            return None
        used = flight.memory
        return cls(
            used.first,
            used.last,
            used.peak,
            flight.memory_limit_bytes,
            flight.memory_limited_by,
            flight.memory_left_bytes,
            used.recent_per_second,
            flight.ended_seconds - flight.began_seconds,
        )

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
        limit = self.limit_bytes or self.peak_bytes
        rises = self.bytes_per_second * _SECONDS_PER_MINUTE > _LEAK_SHARE_PER_MINUTE * limit
        is_long = self.seconds >= _LEAST_SECONDS
        return (
            is_long
            and rises
            and self.last_bytes - self.first_bytes > _GROWN_SHARE * self.last_bytes
        )

    @property
    def words(self) -> str:
        """`3.1 GB in use, 0.4 GB left of a cgroup's 4.0 GB; it grew by 120 MB a minute`."""
        parts = [f"{phrases.size(int(self.last_bytes))} in use when it was looked at last"]
        if self.left_bytes is not None and self.limit_bytes:
            of = "the cgroup's" if self.limited_by == "cgroup" else "the machine's"
            limit = phrases.size(self.limit_bytes)
            parts.append(f"{phrases.size(self.left_bytes)} left of {of} {limit}")
        text = ", ".join(parts)
        return f"{text}; {self.growth_words}" if self.is_growing else text

    @property
    def growth_words(self) -> str:
        """How fast it grew, for a memory that grows."""
        rate = phrases.size(int(self.bytes_per_second * _SECONDS_PER_MINUTE))
        first, last = phrases.size(int(self.first_bytes)), phrases.size(int(self.last_bytes))
        return f"it had grown from {first} to {last}, by {rate} a minute in the end"
