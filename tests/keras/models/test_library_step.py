"""A step without a trace: the variables that it creates, and the models that it leaves alone."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from pitstop.engine.hooking import hook
from pitstop.engine.randomness import outside
from pitstop.keras.models import library_step
from pitstop.tensorflow import private

ROWS = np.ones((6, 4), "float32")


class OwnLayer(keras.layers.Layer):
    def call(self, inputs: Any) -> Any:
        return inputs


class OwnRegularizer(keras.regularizers.Regularizer):
    def __call__(self, weights: Any) -> Any:
        return keras.ops.sum(weights)


class OwnSchedule(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step: Any) -> Any:
        return 0.1


class OwnStep(keras.Model):
    def train_step(self, data: Any) -> Any:
        return super().train_step(data)


def own_number(truth: Any, predicted: Any) -> Any:
    return keras.ops.mean(predicted - truth)


def _model(*layers: Any, kind: type = keras.Sequential, **compiled: Any) -> Any:
    keras.utils.set_random_seed(1)
    inputs = outputs = keras.Input((4,))
    for layer in (*layers, keras.layers.Dense(1)):
        outputs = layer(outputs)
    model = keras.Model(inputs, outputs) if kind is keras.Sequential else kind(inputs, outputs)
    model.compile(**{"optimizer": "adam", "loss": "mse", "metrics": ["mae"], **compiled})
    return model


def _batch() -> Any:
    return tf.constant(ROWS), tf.constant(ROWS[:, :1])


MODELS: dict[str, Callable[[], Any]] = {
    "dense": lambda: _model(keras.layers.Dense(3, "relu", kernel_regularizer="l2")),
    "draws": lambda: _model(keras.layers.Dropout(0.5), keras.layers.GaussianNoise(0.1)),
    "averages": lambda: _model(keras.layers.BatchNormalization()),
    "function of TensorFlow": lambda: _model(keras.layers.Dense(3, tf.nn.relu)),
    "momentum": lambda: _model(optimizer=keras.optimizers.SGD(0.1, momentum=0.9)),
    "scaled": lambda: _model(
        optimizer=keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam())
    ),
    "accumulates": lambda: _model(
        optimizer=keras.optimizers.Adam(gradient_accumulation_steps=2, use_ema=True)
    ),
    "schedule": lambda: _model(
        optimizer=keras.optimizers.AdamW(keras.optimizers.schedules.CosineDecay(0.1, 100))
    ),
}

OWN: dict[str, Callable[[], Any]] = {
    "layer": lambda: _model(OwnLayer()),
    "lambda": lambda: _model(keras.layers.Lambda(lambda inputs: inputs * 2)),
    "activation": lambda: _model(keras.layers.Dense(3, lambda inputs: inputs)),
    "regularizer": lambda: _model(keras.layers.Dense(3, kernel_regularizer=OwnRegularizer())),
    "schedule": lambda: _model(optimizer=keras.optimizers.Adam(OwnSchedule())),
    "loss": lambda: _model(loss=own_number),
    "metric": lambda: _model(metrics=[own_number]),
    "step": lambda: _model(kind=OwnStep),
}


def _state(model: Any) -> list[tuple[str, tuple[int, ...]]]:
    variables = [*model.variables, *model.optimizer.variables, *model.metrics_variables]
    return [(each.path, tuple(each.shape)) for each in variables]


def _traced(model: Any) -> Any:
    """The function of a step, after a first call."""
    model.make_train_function()
    model.train_function(iter([_batch()]))
    return private.functions_behind(model.train_function)[-1]


@pytest.mark.parametrize("name", MODELS)
def test_it_creates_what_a_traced_step_creates_and_saves_a_trace(name: str) -> None:
    plain, model = MODELS[name](), MODELS[name]()
    twice = _traced(plain)
    before = len(_state(model))
    library_step.run_once(model, _batch)
    created = _state(model)
    assert len(created) > before
    once = _traced(model)
    assert _state(model) == created
    assert [shape for _, shape in created] == [shape for _, shape in _state(plain)]
    counts = [each.experimental_get_tracing_count() for each in (twice, once)]
    assert counts == [2, 1]


@pytest.mark.parametrize("name", OWN)
def test_it_leaves_a_step_alone_that_runs_code_of_the_script(name: str) -> None:
    model = OWN[name]()
    before = _state(model)
    library_step.run_once(model, _batch)
    assert _state(model) == before


def test_a_batch_that_the_model_cannot_take_is_left_to_the_traced_step() -> None:
    model = _model(keras.layers.Dense(3))
    library_step.run_once(model, lambda: (tf.zeros((1, 9)), tf.zeros((1, 1))))
    assert _traced(model).experimental_get_tracing_count() == 2


def test_functions_that_run_code_of_pitstop_are_those_of_the_library() -> None:
    model = _model(keras.layers.Dense(3))
    functions = types.SimpleNamespace(mean=keras.ops.mean)
    hook(functions, "mean", outside.OUTSIDE.drawn)
    model.calls = functions.mean
    before = len(_state(model))
    library_step.run_once(model, _batch)
    assert len(_state(model)) > before
