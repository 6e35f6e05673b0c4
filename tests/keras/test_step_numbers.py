"""What a training step returned is read as Keras reads it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pitstop.keras import step_numbers
from pitstop.keras.step_numbers import gaps_seconds, waiting_share

NESTED = {"loss": tf.constant(0.5), "compile_metrics": {"mae": tf.constant(0.25)}, "lr": 0.1}
"""As of `{metric.name: metric.result() for metric in self.metrics}`."""


def test_metrics_inside_of_one_are_scalars_too() -> None:
    assert step_numbers.numbers(NESTED) == {"loss": 0.5, "mae": 0.25, "lr": 0.1}
    assert step_numbers.plain(NESTED) == {"loss": 0.5, "mae": 0.25, "lr": np.float32(0.1)}


def test_what_is_no_number_is_left_out() -> None:
    odd = {"table": object(), "list": [1, "a"], "rows": tf.ones((2, 2)), "name": "first"}
    assert step_numbers.plain({"loss": tf.constant(0.5), **odd}) == {"loss": 0.5}
    assert step_numbers.numbers({"loss": 0.5, **odd}) == {"loss": 0.5}


_SLOW_SECONDS = 0.01


def rows(seconds: float) -> Iterator[int]:
    for row in range(100):
        time.sleep(seconds)
        yield row


def pipeline(seconds: float) -> Any:
    return tf.data.Dataset.from_generator(
        lambda: rows(seconds), output_signature=tf.TensorSpec((), tf.int32)
    )


def share_of(input_seconds: float, step_seconds: float, steps: int = 20) -> float | None:
    iterator = iter(pipeline(input_seconds))
    next(iterator)
    time.sleep(step_seconds)
    began = time.monotonic()
    for _ in range(steps):
        next(iterator)
        time.sleep(step_seconds)
    seconds = time.monotonic() - began
    return waiting_share(gaps_seconds(iterator), steps, seconds)


def test_a_slow_input_is_waited_for() -> None:
    share = share_of(_SLOW_SECONDS, 0.0)
    assert share is not None
    assert share > 0.8


def test_a_slow_step_waits_for_nothing() -> None:
    share = share_of(0.0, _SLOW_SECONDS)
    assert share is not None
    assert share < 0.3


def test_what_is_no_iterator_of_one_device_has_no_gaps() -> None:
    assert gaps_seconds(object()) == []
    assert gaps_seconds(iter([1, 2])) == []


def test_looking_leaves_the_iterator_where_it_is() -> None:
    iterator = iter(tf.data.Dataset.range(5))
    next(iterator)
    gaps_seconds(iterator)
    assert int(next(iterator)) == 1


@pytest.mark.parametrize(
    ("gaps", "elements", "seconds", "share"),
    [
        ([], 5, 1.0, None),
        ([0.1], 0, 1.0, None),
        ([0.1], 5, 0.0, None),
        ([9.0, 0.1, 0.1], 2, 1.0, 0.8),
        ([0.1], 5, 1.0, 0.5),
        ([2.0], 5, 1.0, 0.0),
    ],
)
def test_shares(gaps: list[float], elements: int, seconds: float, share: float | None) -> None:
    assert waiting_share(gaps, elements, seconds) == (
        share if share is None else pytest.approx(share)
    )
