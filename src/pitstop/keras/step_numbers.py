"""The numbers that a training step returned, and what the flight recorder is told of them."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import tensorflow as tf

from pitstop import steps
from pitstop.engine.fence import observing
from pitstop.engine.session.step_recorder import Vitals
from pitstop.keras import left_out, tensorboard
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
        self._steps_ns += elapsed_ns
        if now_ns >= self._vitals.due_ns:
            self._note_input(run)
            self._vitals.tell(
                lambda: {
                    "metrics": numbers(run.numbers.logs),
                    "learning_rate": private_of(run.model).known_learning_rate(run.model),
                    "allocators": allocators(),
                    "log_folder": tensorboard.log_folder(run.callbacks.callbacks),
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
    """The last hundred gaps between requests of an iterator (`gap_times`), if they are known."""
    if not private.is_serializable(iterator):
        return []
    try:
        model = tf.data.experimental.get_model_proto(iterator)
    except (tf.errors.NotFoundError, tf.errors.UnavailableError):
        return []
    return [gap / 1e6 for gap in model.gap_times]


def waiting_share(gaps: list[float], elements: int, seconds: float) -> float | None:
    """Share of these seconds in which so many elements were waited for; None where unknown."""
    recent = gaps[-elements:] if elements else []
    if not recent or seconds <= 0.0:
        return None
    busy = sum(recent) / len(recent) * elements
    return min(1.0, max(0.0, 1.0 - busy / seconds))


class StepNumbers:
    """What one step returned, and its loss as the step record and the loss watch want it.

    `logs` are as Keras has them, `restored` those of the saved step that the `fit` goes on from;
    `loss` is NaN where the step returned none, and `digest` of all its scalars.
    """

    def __init__(self) -> None:
        self.logs: dict[str, Any] = {}
        self.restored: dict[str, Any] = {}
        self.loss, self.digest = float("nan"), 0

    def restore(self, logs: dict[str, Any]) -> None:
        """The last step is one of an earlier attempt; a stop before the next saves it again."""
        self.logs = self.restored = logs

    def returned(self, run: Any, logs: dict[str, Any]) -> None:
        self.logs = logs
        self._note(run)

    @observing()
    def _note(self, run: Any) -> None:
        found = numbers(self.logs)
        self.loss = found.get("loss", float("nan"))
        self.digest = steps.digest(found)
        if "loss" in found:
            at = run.position
            place = (at.step + 1, at.epoch, at.step_in_epoch + 1)
            run.session.losses.note(place, self.loss, lambda: left_out.optimizer_of(run.model))
            if at.step < run.session.settings.look_to_step:
                left_out.look_at_weights(run, place)

    def forget(self) -> None:
        self.loss, self.digest = float("nan"), 0


def numbers(logs: dict[str, Any]) -> dict[str, float]:
    found = {}
    for name, value in _flat(logs):
        try:
            if isinstance(value, float | int) or len(value.shape) == 0:
                found[name] = float(value)
        except (AttributeError, TypeError, ValueError):
            continue  # a text, a complex number, or an object
    return found


def plain(logs: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name, value in _flat(logs):
        with suppress(TypeError, ValueError):  # an object, or a list of several kinds
            array = tf.convert_to_tensor(value).numpy()
            if getattr(array, "ndim", None) == 0:  # not a text, which comes as bytes
                found[name] = array[()]
    return found


def _flat(logs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in logs.items():
        if isinstance(value, dict):
            yield from _flat(value)
        else:
            yield key, value
