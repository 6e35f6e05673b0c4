"""What the training itself told: losses, metrics, steps per second.  Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from pitstop.events import EpochEnded
from pitstop.journal import Entry
from pitstop.report.timeline import (
    LOSS,
    SPEED,
    Panel,
    Point,
    Series,
    Unit,
    panels_with_values,
    thin,
)
from pitstop.steps import StepRecord

COLUMNS = 120
"""Spans of time that a line is thinned to."""

_LARGEST = 1e300
_VALIDATION = "val_"
_MOST_METRICS = 2
_NOT_METRICS = ("loss", "learning_rate", "lr")


def training_panels(
    records: Sequence[StepRecord], entries: Iterable[Entry], ended_seconds: float
) -> tuple[Panel, ...]:
    epochs = [(each.time_seconds, each.event) for each in entries]
    ended = [(seconds, event) for seconds, event in epochs if isinstance(event, EpochEnded)]
    losses = tuple((each.time_seconds, drawable(each.loss)) for each in records)
    loss = (Series("loss", thin(losses, COLUMNS)), _of_epochs(ended, "val_loss"))
    speed = Series("steps per second", step_rate(records, ended_seconds))
    return panels_with_values(
        (
            Panel(LOSS, "Loss", Unit.PLAIN, loss),
            Panel("metrics", "Metrics", Unit.PLAIN, _metrics(ended)),
            Panel(SPEED, "Speed", Unit.PER_SECOND, (speed,)),
        )
    )


def drawable(value: float) -> float:
    """The value; an infinity for one so large that differences of two have no number."""
    return math.inf if abs(value) > _LARGEST else value


def step_rate(records: Sequence[StepRecord], ended_seconds: float) -> tuple[Point, ...]:
    """Steps per second in equal spans of time, up to the end of the attempt."""
    if len(records) < 2 or records[-1].time_seconds <= records[0].time_seconds:
        return ()
    start, end = records[0].time_seconds, max(ended_seconds, records[-1].time_seconds)
    spans = min(COLUMNS, len(records) - 1)
    edges = [start + (end - start) * index / spans for index in range(spans + 1)]
    steps = _steps_at(records, edges)
    rates = [max(0.0, after - before) * spans / (end - start) for before, after in pairwise(steps)]
    return tuple(((a + b) / 2, rate) for (a, b), rate in zip(pairwise(edges), rates, strict=True))


def _steps_at(records: Sequence[StepRecord], times: Sequence[float]) -> list[float]:
    """The steps that were done at rising times, between two records in proportion."""
    found: list[float] = []
    index = 0
    for seconds in times:
        while index < len(records) - 2 and records[index + 1].time_seconds <= seconds:
            index += 1
        one, other = records[index], records[index + 1]
        span = other.time_seconds - one.time_seconds
        share = 1.0 if span <= 0 else (seconds - one.time_seconds) / span
        found.append(one.step + (other.step - one.step) * min(1.0, max(0.0, share)))
    return found


def _metrics(ended: Sequence[tuple[float, EpochEnded]]) -> tuple[Series, ...]:
    names = dict.fromkeys(name for _, event in ended for name in event.logs)
    plain = [name for name in names if not name.startswith(_VALIDATION)]
    chosen = [name for name in plain if name not in _NOT_METRICS][:_MOST_METRICS]
    pairs = (name for each in chosen for name in (each, _VALIDATION + each))
    return tuple(_of_epochs(ended, name) for name in pairs if name in names)


def _of_epochs(ended: Sequence[tuple[float, EpochEnded]], name: str) -> Series:
    points = sorted(
        (seconds, drawable(event.logs[name])) for seconds, event in ended if name in event.logs
    )
    return Series(name, thin(points, COLUMNS), is_dots=True)
