"""What is called, and whether a call leaves its input as it was."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from pitstop.replay.calls import FunctionCall, MethodCall


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
        call = FunctionCall(function, lambda: None, (), {})
        assert call.traces() == 0
        function(tf.constant(1.0))
        assert (call.traces(), call.trains()) == (1, trains)
    assert FunctionCall(update, lambda: None, (), {}).name == "update"


def test_a_function_trains_if_it_writes_what_is_trainable_and_given() -> None:
    image, total = tf.Variable([1.0]), tf.Variable([1.0], trainable=False)

    @tf.function
    def update(given: Any) -> Any:
        return given.assign_add([1.0])

    @tf.function
    def measure(given: Any) -> Any:
        return given + 1.0

    for function, given, trains in (
        (update, image, True),
        (measure, image, False),
        (tf.function(lambda given: given.assign([0.0])), total, False),
    ):
        call = FunctionCall(function, lambda: None, (given,), {})
        function(given)
        assert call.trains() is trains
        assert [each is given for each in call.variables()] == [True]
        assert call.signature(1) == call.signature(1)
        assert call.iterators() == []


@pytest.mark.parametrize(
    ("name", "trains", "feeds_itself"),
    [("train_on_batch", True, False), ("test_on_batch", False, False), ("evaluate", False, True)],
)
def test_methods(name: str, trains: bool, feeds_itself: bool) -> None:
    call = MethodCall(keras.Sequential(), lambda: None, (), {}, name)
    assert (call.trains(), call.feeds_itself) == (trains, feeds_itself)


@pytest.mark.parametrize("kind", ["legacy.Adam", "Adam"])
def test_the_variables_of_a_model_of_keras_2(kind: str) -> None:
    tf_keras = pytest.importorskip("tf_keras")
    optimizer = attrgetter(kind)(tf_keras.optimizers)()
    model = tf_keras.Sequential([tf_keras.layers.Dense(1, input_shape=(2,))])
    model.compile(optimizer, "mse")
    model.train_on_batch(np.ones((2, 2)), np.ones((2, 1)))
    found = MethodCall(model, lambda: None, (), {}, "train_on_batch").variables()
    assert {id(each) for each in model.variables} < {id(each) for each in found}
    assert all(isinstance(each, tf.Variable) for each in found)


def test_traces_of_a_method_are_those_of_the_function_that_it_calls() -> None:
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    seen = []
    for rows in (2, 2, 3, 4):
        call = MethodCall(model, lambda: None, (), {}, "train_on_batch")
        before = call.traces()
        model.train_on_batch(np.ones((rows, 2)), np.ones((rows, 1)))
        seen.append(call.traces() > before)
    assert seen == [True, False, True, False]
    whole = MethodCall(model, lambda: None, (), {}, "evaluate")
    assert whole.traces() == 0
    model.evaluate(np.ones((2, 2)), np.ones((2, 1)), verbose=0)
    assert whole.traces() > 0


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
    model, given_so = keras.Sequential(), (given,)
    whole = MethodCall(model, lambda: None, given_so, {"verbose": 0}, "evaluate")
    assert whole.advances_input() is advances
    assert MethodCall(model, lambda: None, given_so, {}, "test_on_batch").advances_input() is False
