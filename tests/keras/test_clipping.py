"""Gradients that are clipped from outside, and optimizers where that cannot be done."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from pitstop.keras import private
from pitstop.keras.left_out import optimizer_of

_NORM = 0.5
_X = np.full((16, 4), 100.0, np.float32)
_Y = np.full((16, 1), -1e4, np.float32)


def _dense(optimizer: Any, **options: Any) -> Any:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])
    model.compile(optimizer, "mse", **options)
    return model


class OwnStep(keras.Model):
    """With a step of its own; `parts`: what `train_step` does with the gradients."""

    def __init__(self, parts: Any) -> None:
        super().__init__()
        self.inner = keras.layers.Dense(1)
        self.parts = parts

    def call(self, inputs: Any) -> Any:
        return self.inner(inputs)

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x) - y) ** 2)
        variables = self.trainable_variables
        self.parts(self, tape.gradient(loss, variables), variables)
        return {"loss": loss}


def _applies(model: Any, gradients: Any, variables: Any) -> None:
    model.optimizer.apply_gradients(zip(gradients, variables, strict=True))


def _moves(_: Any, gradients: Any, variables: Any) -> None:
    for each, gradient in zip(variables, gradients, strict=True):
        each.assign_sub(1e-6 * gradient)


def _own(parts: Any, optimizer: Any = "sgd") -> Any:
    model = OwnStep(parts)
    model.compile(optimizer)
    model(_X)
    return model


def _moved(model: Any, x: Any = _X) -> float:
    """How far one step moves the weights."""
    before = [each.numpy() for each in model.trainable_variables]
    model.fit(x, _Y, batch_size=16, epochs=1, verbose=0)
    after = [each.numpy() for each in model.trainable_variables]
    return float(np.sqrt(sum(((a - b) ** 2).sum() for a, b in zip(after, before, strict=True))))


def _embedded() -> Any:
    layers = [keras.layers.Embedding(5, 3), keras.layers.Flatten(), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((2,)), *layers])
    model.compile(keras.optimizers.SGD(1.0), "mse")
    return model


_SGD = keras.optimizers.SGD


@pytest.mark.parametrize(
    "model",
    [
        lambda: _dense(_SGD(1.0)),
        lambda: _dense(_SGD(1.0), jit_compile=True),
        lambda: _dense(_SGD(1.0), steps_per_execution=2),
        lambda: _dense(keras.optimizers.LossScaleOptimizer(_SGD(1.0))),
        lambda: _own(_applies, _SGD(1.0)),
    ],
    ids=["plain", "compiled", "several", "scaled", "own"],
)
def test_a_step_moves_no_further_than_the_norm(model: Any) -> None:
    whole, clipped = model(), model()
    assert _moved(whole) > 10
    assert private.why_unclipped(clipped) == ""
    private.clip(clipped, _NORM)
    assert _moved(clipped) == pytest.approx(_NORM, rel=1e-3)
    assert optimizer_of(clipped)["unclipped"] == ""
    assert getattr(clipped.optimizer, "inner_optimizer", clipped.optimizer).global_clipnorm is None


def test_the_rows_of_an_embedding_are_clipped_too() -> None:
    rows = np.ones((16, 2), np.int32)
    whole, clipped = _embedded(), _embedded()
    private.clip(clipped, _NORM)
    assert _moved(whole, rows) > 10
    # The norm of a sparse gradient counts a row as often as it stands in it, so it is no smaller.
    assert 0 < _moved(clipped, rows) < 10 * _NORM


class CustomOptimizer(keras.optimizers.SGD):
    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        super().apply(grads, trainable_variables)


def _with_another() -> Any:
    model = _own(_applies)
    model.another = keras.optimizers.Adam()
    return model


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (lambda: _dense(_SGD(0.01, clipnorm=1.0)), "clips them already"),
        (lambda: _dense(keras.optimizers.LossScaleOptimizer(_SGD(clipvalue=1.0))), "already"),
        (lambda: _dense(CustomOptimizer(0.01)), "custom"),
        (_with_another, "several optimizers"),
        (lambda: _own(_moves), "does not use the optimizer"),
    ],
    ids=["clips", "inner", "custom", "several", "unused"],
)
def test_what_cannot_be_clipped(model: Any, why: str) -> None:
    built = model()
    _moved(built)
    assert why in optimizer_of(built)["unclipped"]


def test_a_schedule_is_known_inside_of_an_optimizer_that_scales() -> None:
    rates = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)
    assert private.has_schedule(_dense(keras.optimizers.LossScaleOptimizer(_SGD(rates))))
    assert private.has_schedule(_dense(_SGD(lambda: 0.1)))
    assert not private.has_schedule(_dense(_SGD(0.1)))


def test_the_optimizer_of_a_mirrored_model_is_told() -> None:
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        model = _dense(_SGD(0.5))
        model.optimizer.build(model.trainable_variables)
    assert optimizer_of(model)["learning_rate"] == 0.5
