"""The outcome of a `fit` that raised, held until it shows that the script has caught it."""

from __future__ import annotations

from pitstop.engine.fence import observing
from pitstop.engine.session import Session
from pitstop.engine.state_capture import StateCapture
from pitstop.keras import caught_exception
from pitstop.keras.fit_run import FitRun


class CaughtOutcome:
    """Of the last `fit`, if it raised."""

    def __init__(self) -> None:
        self._cut: StateCapture | None = None

    @observing()
    def hold(self, run: FitRun, error: BaseException, *, is_restored: bool) -> None:
        """A `fit` has ended in an exception.

        Args:
            run: the `fit`.
            error: the exception.
            is_restored: an earlier attempt's outcome was raised again.
        """
        # What it has done to the end of its epoch is saved, whatever becomes of the script.
        run.session.keep_behind_error(None if is_restored else run.held)
        run.raised = None if is_restored else caught_exception.describe(error)
        if run.raised and run.callbacks is not None and run.epoch_iterator is not None:
            run.steps_finished()
            self._cut = run.take(milestone="fit_end")
        run.held = None

    def save(self, session: Session) -> None:
        """The script goes on to train: it has caught it."""
        cut, self._cut = self._cut, None
        if cut is not None:
            session.milestone(lambda: cut)
