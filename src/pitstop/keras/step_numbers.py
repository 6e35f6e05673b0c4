"""The numbers that a training step returned: metrics by name, as tensors, arrays or numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf

from pitstop import steps
from pitstop.engine.fence import observing
from pitstop.keras import left_out
from pitstop.keras.packages import private_of


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
        """A step of the `FitRun` has returned its logs; it is not counted yet."""
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
            # Which package a model is of is only found out where the rate is asked for.
            run.session.losses.note(
                place, self.loss, lambda: private_of(run.model).learning_rate(run.model)
            )
            if at.step < run.session.settings.look_to_step:
                left_out.look_at_weights(run, place)

    def forget(self) -> None:
        """The next step is not computed."""
        self.loss, self.digest = float("nan"), 0


def numbers(logs: Mapping[str, Any]) -> dict[str, float]:
    """The scalars among the logs that are numbers."""
    found = {}
    for name, value in _flat(logs):
        if isinstance(value, float | int) or getattr(value, "shape", None) == ():
            try:
                found[name] = float(value)
            except (TypeError, ValueError):
                continue  # a text, or a complex number
    return found


def plain(logs: Mapping[str, Any]) -> dict[str, Any]:
    """The scalars with tensors as NumPy scalars, which keep every bit."""
    found = {}
    for name, value in _flat(logs):
        try:
            array = tf.convert_to_tensor(value).numpy()
        except (TypeError, ValueError):
            continue  # an object, or a list of several kinds
        if getattr(array, "ndim", None) == 0:  # not a text, which comes as bytes
            found[name] = array[()]
    return found


def _flat(logs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each with its name alone, as Keras tells callbacks."""
    for key, value in logs.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        else:
            yield key, value
