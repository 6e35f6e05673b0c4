"""Records a run beside it: a thread that takes samples and keeps them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from pathlib import Path
from typing import Protocol

from pitstop.events import ExhaustionForecast
from pitstop.flight.files import FlightFiles
from pitstop.flight.forecast import ExhaustionMonitor
from pitstop.flight.sample import Sample
from pitstop.flight.sampler import Sampler, TrainerMetrics

COST_SHARE = 0.003  # of one processor, at most; where a sample costs more, there are fewer
_CLOSE_SECONDS = 1.0


class Listener(Protocol):
    """Whoever wants to see every sample."""

    def see(self, sample: Sample) -> None:
        """A sample was taken."""

    def close(self) -> None:
        """There are no more."""


class FlightRecorder:
    """Takes samples at an interval, writes them, and forecasts what runs out.

    In its own thread: the run's disk may be slow. It and the supervisor exchange single attributes,
    replaced as a whole, and a deque.
    """

    def __init__(self, attempt_dir: Path, sampler: Sampler, every_seconds: float) -> None:
        self.latest: Sample | None = None
        self._files = FlightFiles(attempt_dir)
        self._sampler = sampler
        self._every_seconds = every_seconds
        self._exhaustion_monitor = ExhaustionMonitor()
        self._metrics = TrainerMetrics()
        self._new_forecasts: deque[ExhaustionForecast] = deque()
        self._listeners: list[Listener] = []
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, name="pitstop-flight", daemon=True)

    def start(self) -> None:
        self._sampler.start()
        self._thread.start()

    def listen(self, listener: Listener) -> None:
        """Shows every sample to `listener`, in the recorder's thread; before `start`."""
        self._listeners.append(listener)

    def on_metrics(self, metrics: TrainerMetrics) -> None:
        self._metrics = metrics

    def take_forecasts(self) -> list[ExhaustionForecast]:
        return [self._new_forecasts.popleft() for _ in range(len(self._new_forecasts))]

    @property
    def forecasts(self) -> list[ExhaustionForecast]:
        return list(self._exhaustion_monitor.present.values())

    def close(self) -> None:
        self._closed.set()
        self._thread.join(_CLOSE_SECONDS)
        self._sampler.close()

    def _work(self) -> None:
        wait_seconds, ended = 0.0, False
        while not ended:
            ended = self._closed.wait(wait_seconds)
            before_seconds = time.thread_time()
            self._record()
            cost_seconds = time.thread_time() - before_seconds
            wait_seconds = max(self._every_seconds, cost_seconds / COST_SHARE)
        self._files.close()
        for listener in self._listeners:
            listener.close()

    def _record(self) -> None:
        sample = self._sampler.take(self._metrics)
        # A full disk costs samples, nothing else.
        with contextlib.suppress(OSError):
            self._files.append(sample)
        self._new_forecasts.extend(self._exhaustion_monitor.see(sample))
        for listener in self._listeners:
            listener.see(sample)
        self.latest = sample
