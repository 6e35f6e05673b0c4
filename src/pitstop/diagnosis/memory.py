"""The memory of an attempt in its last moments, as the flight recorder saw it."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.diagnosis import phrases
from pitstop.flight.summary import Summary, Used

_SHORT_SHARE = 0.1
_AMPLE_SHARE = 0.3
_LEAK_SHARE_PER_MINUTE = 0.01
_GROWN_SHARE = 0.2
_SECONDS_PER_MINUTE = 60.0
_LEAST_SECONDS = 180.0
"""Shorter attempts have hardly trained: importing TensorFlow and building a model grow too."""


@dataclass(frozen=True)
class MemoryUse:
    """What the processes of the command occupied, and what more there was."""

    used: Used
    flight: Summary

    @classmethod
    def of(cls, flight: Summary | None) -> MemoryUse | None:
        return cls(flight.memory, flight) if flight and flight.memory else None

    @property
    def limited_by(self) -> str:
        """Whose memory was the less: "cgroup" or "machine"."""
        return self.flight.memory_limited_by

    @property
    def left_share(self) -> float | None:
        """What was left, of the limit; None where one of them is not known."""
        left_bytes, limit_bytes = self.flight.memory_left_bytes, self.flight.memory_limit_bytes
        return None if left_bytes is None or not limit_bytes else left_bytes / limit_bytes

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
        used, flight = self.used, self.flight
        limit = flight.memory_limit_bytes or used.peak
        rises = used.recent_per_second * _SECONDS_PER_MINUTE > _LEAK_SHARE_PER_MINUTE * limit
        is_long = flight.ended_seconds - flight.began_seconds >= _LEAST_SECONDS
        return is_long and rises and used.last - used.first > _GROWN_SHARE * used.last

    @property
    def words(self) -> str:
        """`3.1 GB in use, 0.4 GB left of a cgroup's 4.0 GB; it grew by 120 MB a minute`."""
        parts = [f"{phrases.size(int(self.used.last))} in use when it was looked at last"]
        left_bytes, limit_bytes = self.flight.memory_left_bytes, self.flight.memory_limit_bytes
        if left_bytes is not None and limit_bytes:
            of = "the cgroup's" if self.limited_by == "cgroup" else "the machine's"
            parts.append(f"{phrases.size(left_bytes)} left of {of} {phrases.size(limit_bytes)}")
        text = ", ".join(parts)
        return f"{text}; {self.growth_words}" if self.is_growing else text

    @property
    def growth_words(self) -> str:
        """How fast it grew, for a memory that grows."""
        rate = phrases.size(int(self.used.recent_per_second * _SECONDS_PER_MINUTE))
        first, last = phrases.size(int(self.used.first)), phrases.size(int(self.used.last))
        return f"it had grown from {first} to {last}, by {rate} a minute in the end"
