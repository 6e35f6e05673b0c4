"""Losses, metrics and speed, from the records of steps and the ends of epochs."""

from __future__ import annotations

import math
from dataclasses import replace

from pitstop.events import EpochEnded
from pitstop.journal import Entry
from pitstop.report.timeline import Panel
from pitstop.report.training_panels import step_rate, training_panels
from pitstop.steps import StepRecord
from tests.diagnosis.attempts import epoch


def _records(count: int, seconds: float = 0.5, loss: float = 1.0) -> list[StepRecord]:
    return [
        StepRecord(step, 0, 0, loss / step, 100.0 + seconds * step, 0)
        for step in range(1, count + 1)
    ]


def _by_id(panels: tuple[Panel, ...]) -> dict[str, Panel]:
    return {panel.id: panel for panel in panels}


def test_a_loss_of_every_step_and_of_every_epoch() -> None:
    entries = [Entry(150.0, 1, epoch(0, loss=0.5, val_loss=0.6, accuracy=0.7, val_accuracy=0.8))]
    found = _by_id(training_panels(_records(20), entries, 150.0))
    loss, validation = found["loss"].series
    assert (loss.points[0], loss.points[-1]) == ((100.5, 1.0), (110.0, 0.05))
    assert (validation.name, validation.points) == ("val_loss", ((150.0, 0.6),))
    assert [each.name for each in found["metrics"].series] == ["accuracy", "val_accuracy"]


def test_learning_rates_are_no_metrics_and_two_metrics_are_enough() -> None:
    logs = {"loss": 1.0, "lr": 0.1, "learning_rate": 0.1, "a": 1.0, "b": 2.0, "c": 3.0}
    found = _by_id(training_panels((), [Entry(1.0, 1, EpochEnded(0, 0, 20, 20, logs))], 2.0))
    assert [each.name for each in found["metrics"].series] == ["a", "b"]


def test_the_speed_is_steps_by_seconds() -> None:
    points = step_rate(_records(200), 200.0)
    before_end = [rate for time, rate in points if time < 199]
    assert all(math.isclose(rate, 2.0, rel_tol=0.02) for rate in before_end)


def test_a_standstill_is_a_speed_of_nothing() -> None:
    points = step_rate(_records(200), 300.0)
    assert points[-1][1] == 0.0
    assert math.isclose(sum(rate for _, rate in points) * (300 - 100.5) / len(points), 199)


def test_a_pause_between_two_steps_is_a_low_speed() -> None:
    late = StepRecord(201, 0, 0, 1.0, 300.0, 0)
    points = step_rate([*_records(200), late], 300.0)
    assert all(rate < 0.02 for time, rate in points if time > 205)


def test_nothing_to_show() -> None:
    assert training_panels((), (), 1.0) == ()
    assert training_panels(_records(1), (), 200.0) == ()
    assert step_rate(_records(3, seconds=0.0), 100.0) == ()


def test_losses_that_no_axis_can_hold_are_drawn_as_none() -> None:
    records = [
        replace(each, loss=loss)
        for each, loss in zip(_records(4), (1.0, -1.7e308, 1.7e308, 2.0), strict=True)
    ]
    [loss, *_] = training_panels(records, (), 110.0)
    assert loss.values() == (1.0, 2.0)
