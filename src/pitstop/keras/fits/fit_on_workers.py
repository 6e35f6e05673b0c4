"""A `fit` whose steps are closures, which this process sends to the workers of a cluster."""

from typing import Any

import tensorflow as tf

from pitstop.engine.exactness import Exactness, not_exact
from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.engine.snapshots.state_capture import StateCapture
from pitstop.keras.fits.fit_run import FitRun
from pitstop.tensorflow.schedule import ASYNCHRONOUS, SCHEDULE, is_of_another_task

_CANCELLED = (
    "asynchronous; steps that were scheduled when a worker raised {} are counted but not executed"
)
_END_OF_INPUT = "OutOfRangeError, as it does without steps_per_epoch,"


def is_sent_to_workers(model: Any) -> bool:
    strategy = getattr(model, "distribute_strategy", None)
    return isinstance(strategy, tf.distribute.ParameterServerStrategy)


class FitOnWorkers(FitRun):
    """Counts the steps that are scheduled, and is saved when all of them have ended."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.parts.step = ASYNCHRONOUS
        if self.arguments.get("steps_per_epoch") is None:
            self._cancelled(_END_OF_INPUT)
        self._boundary.is_settled = SCHEDULE.is_consistent
        self._last_logs: Any = None
        SCHEDULE.begin(self.session.beacon)

    @property
    def level(self) -> Exactness:
        return self.parts.step or ASYNCHRONOUS

    def step_returned(self, batch: int, logs: Any = None) -> None:
        self._last_logs = logs
        super().step_returned(batch)

    def step_done(self) -> None:
        """The chief has scheduled a call; raises what a step on a worker has raised."""
        super().step_done()
        SCHEDULE.raise_failure(self._failed)

    def hold(self) -> None:
        """All steps of the epoch end, then the cut is held; raises what a step has raised."""
        if SCHEDULE.settles():
            super().hold()
        SCHEDULE.raise_failure(self._failed)

    def build_missing(self, saved: SavedState) -> None:
        super().build_missing(saved)
        SCHEDULE.settle()

    def take(self, stage: str = "steps", milestone: str = "") -> StateCapture | None:
        """A cut when all that was scheduled has ended; None where a step has raised."""

        def taken() -> StateCapture | None:
            return super(FitOnWorkers, self).take(stage, milestone)

        return SCHEDULE.wait(lambda: taken() if SCHEDULE.settles() else None)

    def _cut(self, stage: str, milestone: str) -> StateCapture | None:
        try:
            if self._last_logs is not None:
                self.numbers.logs, self._last_logs = self._last_logs.fetch(), None
            cut = super()._cut(stage, milestone)
            return None if cut is None else cut.read_now()
        except Exception as error:
            if is_of_another_task(error):
                return None
            raise

    def _failed(self, failure: Exception) -> None:
        self._cancelled(type(failure).__name__)

    def _cancelled(self, error: str) -> None:
        self.parts.step = not_exact(_CANCELLED.format(error))
