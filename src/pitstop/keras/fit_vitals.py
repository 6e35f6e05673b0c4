"""What the flight recorder is told of a `fit`, and how much of a step's time its input takes.

`tf.data` notes, for its own tuning, the time between the end of one request for an
element and the begin of the next (`gap_times` in core/framework/model.proto): what a step
takes apart from that, it has waited.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from pitstop.engine.fence import observing
from pitstop.engine.step_recorder import Vitals
from pitstop.keras import event_files, step_numbers
from pitstop.keras.packages import private_of
from pitstop.tensorflow import private
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
            self._vitals.tell(
                lambda: {
                    "metrics": step_numbers.numbers(run.numbers.logs),
                    "learning_rate": private_of(run.model).known_learning_rate(run.model),
                    "allocators": allocators(),
                    "log_folder": event_files.log_folder(run.callbacks.callbacks),
                }
            )

    def _note_input(self, run: Any) -> None:
        """The first time only begins to count: by then, the first step was traced."""
        seconds, self._steps_ns = self._steps_ns / 1e9, 0
        before, self._told_step = self._told_step, run.position.step
        if before < 0:
            return
        gaps = gaps_seconds(run.input.iterator)
        share = waiting_share(gaps, run.position.step - before, seconds)
        if share is not None:
            self._vitals.waited(share, seconds)


def gaps_seconds(iterator: Any) -> list[float]:
    """The last gaps between two requests of an iterator, the newest last; empty where none are.

    Up to a hundred of them.  An iterator of several devices, or one whose tuning is off, has none.
    """
    if not private.is_serializable(iterator):
        return []
    try:
        model = tf.data.experimental.get_model_proto(iterator)
    except (tf.errors.NotFoundError, tf.errors.UnavailableError):
        return []
    return [gap / 1e6 for gap in model.gap_times]


def waiting_share(gaps: list[float], elements: int, seconds: float) -> float | None:
    """Share of the time in which elements were waited for; None where it cannot be known.

    So many were drawn in these seconds, the time of whole steps.
    """
    recent = gaps[-elements:] if elements else []
    if not recent or seconds <= 0.0:
        return None
    busy = sum(recent) / len(recent) * elements
    return min(1.0, max(0.0, 1.0 - busy / seconds))
