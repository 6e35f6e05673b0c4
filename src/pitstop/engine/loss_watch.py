"""The first loss that is no number any more."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

from pitstop.events import Event, NonFiniteLoss

_REMEMBERED = 8


def _unknown() -> float | None:
    return None


class LossWatch:
    """Reports the first non-finite loss of a process, and the losses before it."""

    def __init__(self, report: Callable[[Event], None]) -> None:
        self._report = report
        self._recent: deque[float] = deque(maxlen=_REMEMBERED)
        self._reported = False

    def note(
        self,
        step: int,
        epoch: int,
        step_in_epoch: int,
        loss: float,
        learning_rate: Callable[[], float | None] = _unknown,
    ) -> None:
        """Looks at the loss of a step; asks for the learning rate once, when it is no number."""
        if math.isfinite(loss):
            self._recent.append(loss)
        elif not self._reported:
            self._reported = True
            recent = list(self._recent)
            last = recent[-1] if recent else None
            place = (step, epoch, step_in_epoch)
            self._report(NonFiniteLoss(*place, "loss", repr(loss), last, recent, learning_rate()))
