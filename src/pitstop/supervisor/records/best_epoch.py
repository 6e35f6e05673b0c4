"""The best epoch of a run: by the validation loss, or by the loss without validation.  Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable

from pitstop.events import EpochEnded
from pitstop.record import record

_WATCHED = ("val_loss", "loss")


@record
class BestEpoch:
    """The least value of a metric, and the epoch that it comes from, counted from 0."""

    metric: str
    value: float
    epoch: int


def better(best: BestEpoch | None, event: EpochEnded) -> BestEpoch | None:
    """The best one with one more epoch; a metric that says more begins anew."""
    metric = next((name for name in _WATCHED if name in event.logs), "")
    value = event.logs.get(metric, math.nan)
    if not math.isfinite(value):
        return best
    if best is None or best.metric != metric or value < best.value:
        return BestEpoch(metric, value, event.epoch)
    return best


def best_of(epochs: Iterable[EpochEnded]) -> BestEpoch | None:
    best: BestEpoch | None = None
    for event in epochs:
        best = better(best, event)
    return best
