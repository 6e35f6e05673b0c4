"""What a training step returned is read as Keras reads it."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from pitstop.keras import step_numbers

NESTED = {"loss": tf.constant(0.5), "compile_metrics": {"mae": tf.constant(0.25)}, "lr": 0.1}
"""As of `{metric.name: metric.result() for metric in self.metrics}`."""


def test_metrics_inside_of_one_are_scalars_too() -> None:
    assert step_numbers.numbers(NESTED) == {"loss": 0.5, "mae": 0.25, "lr": 0.1}
    assert step_numbers.plain(NESTED) == {"loss": 0.5, "mae": 0.25, "lr": np.float32(0.1)}


def test_what_is_no_number_is_left_out() -> None:
    odd = {"table": object(), "list": [1, "a"], "rows": tf.ones((2, 2)), "name": "first"}
    assert step_numbers.plain({"loss": tf.constant(0.5), **odd}) == {"loss": 0.5}
    assert step_numbers.numbers({"loss": 0.5, **odd}) == {"loss": 0.5}
