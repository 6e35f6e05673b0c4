"""What the flight recorder foresees."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.events.base import Event


@dataclass(frozen=True)
class ExhaustionForecast(Event):
    """Something grows steadily and is going to meet its limit; told once for each.

    resource: "memory", "disk" (bytes), "open_files" or "tasks" (a number).
    place: the mount of a disk; "cgroup" or "machine", whose limit it is.
    used, left: at that moment.
    per_second: how fast it grows.
    seconds_left: until nothing is left; between `soonest_seconds` and `latest_seconds`.
    window_seconds: how long it was seen to grow.
    growing: "python": the blocks of Python's objects grow too; empty otherwise.
    """

    resource: str
    place: str
    used: float
    left: float
    per_second: float
    seconds_left: float
    soonest_seconds: float
    latest_seconds: float
    window_seconds: float
    step: int
    growing: str = ""
