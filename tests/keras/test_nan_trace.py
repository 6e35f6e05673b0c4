"""The first bad value of a step, whichever part of it makes it."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from pitstop.events import NonFiniteLocated
from pitstop.keras import nan_trace

X = np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(4, 2)
Y = np.array([0, 1, 0, 1])
NAN = float("nan")


class Norm(keras.layers.Layer):
    """Has no finite gradient at 0."""

    def call(self, inputs: Any) -> Any:
        return inputs + tf.norm(inputs, axis=-1, keepdims=True)


def model(*layers: Any, loss: Any = None, rate: float = 0.1) -> Any:
    built = keras.Sequential([*layers, keras.layers.Dense(2, name="out")])
    crossentropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    built.compile(optimizer=keras.optimizers.SGD(rate), loss=loss or crossentropy)
    built.build((None, 2))
    return built


def look(built: Any, x: Any = X, y: Any = Y) -> NonFiniteLocated:
    return nan_trace.look_at_step(built, (tf.constant(x), tf.constant(y)), 12)


def with_nan(values: Any) -> Any:
    return np.where(np.arange(values.size).reshape(values.shape) == 3, NAN, values).astype(
        "float32"
    )


def nan_weight() -> Any:
    built = model()
    built.layers[-1].bias.assign([0.0, NAN])
    return built


def test_a_good_step_is_told_with_its_numbers() -> None:
    found = look(model())
    assert (found.step, found.where, found.name) == (12, "nowhere", "")
    assert "x ranges from -1 to 1" in found.details


def test_the_batch() -> None:
    found = look(model(), with_nan(X))
    assert (found.where, found.name) == ("input", "x")
    assert found.details == ["1 NaN of 8 values, the first at [1, 1]"]


def test_a_weight() -> None:
    found = look(nan_weight())
    assert found.where == "weights"
    assert found.name.endswith("out/bias")


def test_a_layer() -> None:
    expo = keras.layers.Lambda(lambda t: tf.exp(t * 1000), name="expo")
    found = look(model(expo, keras.layers.Activation("tanh")))
    assert found.where == "activation"
    assert found.name.startswith("Lambda ")
    assert found.name.endswith("expo")


def test_the_loss() -> None:
    found = look(model(loss=lambda _, p: tf.math.log(-tf.square(p) - 1.0)))
    assert found.where == "loss"


def test_a_gradient() -> None:
    found = look(
        model(keras.layers.Dense(2, use_bias=False, name="first"), Norm()),
        np.zeros((4, 2), "float32"),
    )
    assert found.where == "gradient"
    assert found.name.endswith("first/kernel")
    assert any(line.startswith("the loss is ") for line in found.details)


def test_the_update() -> None:
    found = look(model(rate=3e38), X * 100)
    assert found.where == "update"


@pytest.mark.parametrize("kind", [keras.callbacks.ModelCheckpoint, keras.callbacks.CSVLogger])
def test_callbacks_that_write_do_not_act(kind: Any, tmp_path: Any) -> None:
    writer = kind(str(tmp_path / "file.keras"))
    schedule = keras.callbacks.LearningRateScheduler(lambda _: 0.5)
    assert nan_trace.silence([writer, schedule]) == [kind.__name__]
    model().fit(X, Y, callbacks=[writer, schedule], verbose=0)
    assert not list(tmp_path.iterdir())


def test_keras_is_as_before_when_a_step_was_looked_at() -> None:
    built = model()
    call = keras.layers.Layer.__call__
    look(built)
    assert keras.layers.Layer.__call__ is call
    assert "compute_loss" not in vars(built)
    assert "apply" not in vars(built.optimizer)
