"""One thing over time."""

from __future__ import annotations

import math
from dataclasses import replace

from pitstop.flight import series
from pitstop.flight.sample import DiskSample
from tests.flight.samples import SAMPLE, TRAINER, at


def values(points: series.Series) -> list[float]:
    return [point.value for point in points]


def test_memory_is_that_of_the_command() -> None:
    [point] = series.memory([SAMPLE])
    assert (point.time_seconds, point.value) == (SAMPLE.time_seconds, 2_500_000_000.0)
    assert series.memory([replace(SAMPLE, processes=[])]) == ()


def test_a_rate_that_is_no_number_is_no_point() -> None:
    samples = [
        at(0),
        at(1, training={"learning_rate": math.nan}),
        at(2, training={"learning_rate": None}),
    ]
    assert values(series.learning_rate(samples)) == [1e-3]


def test_rates_are_between_samples() -> None:
    busy = replace(TRAINER, cpu_seconds=53.0)
    samples = [at(0), at(2, training={"step": 140}, processes=[busy])]
    assert values(series.step_rate(samples)) == [20.0]
    assert values(series.cpu_share(samples)) == [1.5]


def test_a_count_that_falls_is_another_processs() -> None:
    assert series.step_rate([at(0), at(1, training={"step": 3})]) == ()


def test_the_share_of_the_input() -> None:
    later = at(1, training={"input_seconds": 1.5, "step_seconds": 6.0})
    assert values(series.input_share([at(0), later])) == [0.5]
    assert series.input_share([at(0), at(1)]) == ()
    assert series.input_share([at(0, training={"step_seconds": None}), later]) == ()


def test_a_disk_that_does_not_answer_has_no_point() -> None:
    hung = DiskSample("/", "nfs", ["run"], 10, 5, answers=False)
    assert values(series.disk_free([SAMPLE, at(1, disks=[hung])], "/")) == [40e9]
    assert series.disk_free([SAMPLE], "/elsewhere") == ()


def test_gpus_are_told_apart() -> None:
    assert values(series.of_gpu([SAMPLE], 0, "used_bytes")) == [10.0]
    assert values(series.of_gpu([SAMPLE], 0, "utilization")) == [0.9]
    assert series.of_gpu([SAMPLE], 1, "used_bytes") == ()
