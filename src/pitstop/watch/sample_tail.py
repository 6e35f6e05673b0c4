"""The flight recorder's samples of an attempt, as they come, in bounded memory."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from pitstop.events import ExhaustionForecast
from pitstop.flight import files
from pitstop.flight.exhaustion_monitor import ExhaustionMonitor
from pitstop.flight.sample import Sample
from pitstop.watch.growing_file import GrowingFile

_FEWEST, _MOST = 400, 600


class SampleTail:
    """Reads what the recorder writes; the older half is thinned when there are too many."""

    def __init__(self, attempt_dir: Path) -> None:
        self._halves = [GrowingFile(path) for path in files.newest_paths(attempt_dir)]
        for half in self._halves:
            half.lines()
        self._monitor = ExhaustionMonitor()
        self.samples: list[Sample] = []
        self._take(list(files.read_spaced(attempt_dir, _FEWEST)))

    def refresh(self) -> None:
        lines = chain.from_iterable(half.lines() for half in self._halves)
        found = (files.decode(line) for line in lines)
        last = self.samples[-1].number if self.samples else -1
        self._take([each for each in found if each is not None and each.number > last])
        if len(self.samples) > _MOST:
            half = len(self.samples) // 2
            self.samples = self.samples[:half:2] + self.samples[half:]

    @property
    def forecasts(self) -> list[ExhaustionForecast]:
        """What is going to run out, by the rules of the recorder."""
        return list(self._monitor.present.values())

    def _take(self, new: list[Sample]) -> None:
        new.sort(key=lambda each: each.number)
        for each in new:
            self._monitor.see(each)
        self.samples += new
