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
        else:
            self._tell((step, epoch, step_in_epoch), "loss", repr(loss), learning_rate)

    def bad_weight(
        self,
        step: int,
        epoch: int,
        step_in_epoch: int,
        value: str,
        learning_rate: Callable[[], float | None] = _unknown,
    ) -> None:
        """A weight was found not finite behind a step, whatever its loss was."""
        self._tell((step, epoch, step_in_epoch), "weights", value, learning_rate)

    def _tell(
        self,
        place: tuple[int, int, int],
        metric: str,
        value: str,
        learning_rate: Callable[[], float | None],
    ) -> None:
        if not self._reported:
            self._reported = True
            recent = list(self._recent)
            last = recent[-1] if recent else None
            self._report(NonFiniteLoss(*place, metric, value, last, recent, learning_rate()))
