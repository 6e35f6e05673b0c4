"""What is called, and whether a call leaves its input as it was."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from pitstop.replay.callee import Call, FunctionCallee, MethodCallee


def test_a_function_trains_if_it_writes_what_is_trainable() -> None:
    weights, total = tf.Variable(1.0), tf.Variable(1.0, trainable=False)

    @tf.function
    def update(x: Any) -> Any:
        return weights.assign_add(x)

    @tf.function
    def measure(x: Any) -> Any:
        return total.assign_add(weights * x)

    @tf.function
    def around(x: Any) -> Any:
        return update(x) + 1.0

    for function, trains in ((update, True), (measure, False), (around, True)):
        callee = FunctionCallee(function)
        assert callee.traces() == 0
        function(tf.constant(1.0))
        assert (callee.traces(), callee.trains()) == (1, trains)
    assert FunctionCallee(update).name == "update"


@pytest.mark.parametrize(
    ("name", "trains", "feeds_itself"),
    [("train_on_batch", True, False), ("test_on_batch", False, False), ("evaluate", False, True)],
)
def test_methods(name: str, trains: bool, feeds_itself: bool) -> None:
    callee = MethodCallee(keras.Sequential(), name)
    assert (callee.trains(), callee.feeds_itself) == (trains, feeds_itself)


@pytest.mark.parametrize(
    ("given", "advances"),
    [
        (np.ones(3), False),
        ([tf.ones(3), {"mask": None}], False),
        (tf.data.Dataset.range(3), True),
        (iter([np.ones(3)]), True),
    ],
)
def test_an_input_that_is_drawn_from(given: Any, advances: bool) -> None:
    callee = MethodCallee(keras.Sequential(), "evaluate")
    assert Call(callee, lambda: None, (given,), {"verbose": 0}).advances_input() is advances
    batch = MethodCallee(callee.owner, "test_on_batch")
    assert Call(batch, lambda: None, (given,), {}).advances_input() is False
