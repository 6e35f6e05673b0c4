"""What the flight recorder is told of a `fit`."""

from __future__ import annotations

from typing import Any

from pitstop.engine.fence import observing
from pitstop.engine.vitals import Vitals
from pitstop.keras import step_logs, tensorboard
from pitstop.keras.packages import private_of
from pitstop.tensorflow import input_time
from pitstop.tensorflow.devices import allocators


class FitVitals:
    """Counts the time of steps, and looks at the rest when it is time to tell."""

    def __init__(self, vitals: Vitals) -> None:
        self._vitals = vitals
        self._steps_ns = 0
        self._told_step = -1

    @observing()
    def step_done(self, run: Any, elapsed_ns: int, now_ns: int) -> None:
        """A step has ended, this long after the boundary before; the hot path."""
        self._steps_ns += elapsed_ns
        if now_ns >= self._vitals.due_ns:
            self._note_input(run)
            self._vitals.tell(lambda: _facts(run))

    def _note_input(self, run: Any) -> None:
        """The first time only begins to count: by then, the first step was traced."""
        seconds, self._steps_ns = self._steps_ns / 1e9, 0
        before, self._told_step = self._told_step, run.step
        if before < 0:
            return
        gaps = input_time.gaps_seconds(run.input.iterator)
        share = input_time.waiting_share(gaps, run.step - before, seconds)
        if share is not None:
            self._vitals.waited(share, seconds)


def _facts(run: Any) -> dict[str, Any]:
    return {
        "metrics": step_logs.numbers(run.logs),
        "learning_rate": private_of(run.model).known_learning_rate(run.model),
        "allocators": allocators(),
        "log_folder": tensorboard.log_folder(run.callbacks.callbacks),
    }
