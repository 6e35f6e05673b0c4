"""The numbers that the last training step returned."""

from __future__ import annotations

import functools
from typing import Any

from pitstop import steps
from pitstop.engine.fence import observing
from pitstop.keras import left_out, step_logs
from pitstop.keras.packages import private_of


class StepNumbers:
    """Loss and metrics of one step, as the step record and the loss watch want them.

    Attributes:
        loss: NaN where the step returned none.
        digest: of all its scalars.
    """

    def __init__(self) -> None:
        self.loss = float("nan")
        self.digest = 0

    @observing()
    def note(self, run: Any) -> None:
        """A step of the `FitRun` has returned its logs; it is not counted yet."""
        numbers = step_logs.numbers(run.logs)
        self.loss = numbers.get("loss", float("nan"))
        self.digest = steps.digest(numbers)
        if "loss" in numbers:
            place = (run.step + 1, run.epoch, run.step_in_epoch + 1)
            rate = functools.partial(_learning_rate, run.model)
            run.session.losses.note(*place, self.loss, rate)
            if run.step < run.session.settings.look_to_step:
                left_out.look_at_weights(run, place)

    def forget(self) -> None:
        """The next step is not computed."""
        self.loss = float("nan")
        self.digest = 0


def _learning_rate(model: Any) -> float | None:
    # Which package a model is of is only found out where the rate is asked for, not at each step.
    rate: float | None = private_of(model).learning_rate(model)
    return rate
