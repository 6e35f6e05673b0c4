"""Looks for the reasons to stop that nobody reports: a file, and the clock."""

from __future__ import annotations

from pathlib import Path

from pitstop.events import StopRequested
from pitstop.supervisor import stop_file, time_limit
from pitstop.supervisor.deadline import Patience
from pitstop.supervisor.time_limit import TimeLimit

_LOOK_SECONDS = 0.25


class Lookout:
    """Asked at every turn of the supervision; looks into the folder now and then."""

    def __init__(self, stop_file: Path, limit: TimeLimit | None) -> None:
        self._stop_file = stop_file
        self._limit = limit
        self._look_at = 0.0

    def request(
        self, now_seconds: float, step_seconds: float, save_seconds: float
    ) -> StopRequested | None:
        """A reason to stop that has come up; None mostly.

        Args:
            now_seconds: CLOCK_MONOTONIC.
            step_seconds: measured time of a step.
            save_seconds: measured time to make a checkpoint durable.
        """
        if self._limit is not None:
            asked = time_limit.request(self._limit, now_seconds, step_seconds, save_seconds)
            if asked is not None:
                return asked
        if now_seconds < self._look_at:
            return None
        self._look_at = now_seconds + _LOOK_SECONDS
        return stop_file.obey(self._stop_file)

    def bound(self, wait: Patience, asked_at_seconds: float, save_seconds: float) -> Patience:
        """A wait for the trainer, no longer than the time limit allows."""
        if self._limit is None:
            return wait
        return time_limit.within(self._limit, wait, asked_at_seconds, save_seconds)
