"""The first loss that is no number any more."""

from __future__ import annotations

import math
from collections.abc import Callable

from pitstop.events import Event, NonFiniteLoss


class LossWatch:
    """Reports the first non-finite loss of a process, and what it was before."""

    def __init__(self, report: Callable[[Event], None]) -> None:
        self._report = report
        self._last_finite: float | None = None
        self._reported = False

    def note(self, step: int, epoch: int, step_in_epoch: int, loss: float) -> None:
        """Looks at the loss of a step, counted from 1."""
        if math.isfinite(loss):
            self._last_finite = loss
        elif not self._reported:
            self._reported = True
            self._report(
                NonFiniteLoss(step, epoch, step_in_epoch, "loss", repr(loss), self._last_finite)
            )
