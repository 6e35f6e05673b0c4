"""Layers that callbacks freeze are frozen again; what was replaced is refused."""

from __future__ import annotations

import json
from typing import Any

import keras
import numpy as np
import pytest

from pitstop.errors import ResumeRefused
from pitstop.keras.models.structure import Structure, flags_of


def _behind_a_step(model: Any) -> Structure:
    followed = Structure(model)
    model.make_train_function()
    followed.begin()
    followed.look()
    model.train_on_batch(np.zeros((1, 2)), np.zeros((1, 1)))
    followed.look()
    return followed


def trained(**settings: Any) -> tuple[Any, Structure]:
    """A model as it is after the first step of a fit."""
    layers = keras.layers
    first = layers.Dense(2, kernel_regularizer="l2")
    model = keras.Sequential([keras.Input((2,)), first, layers.Dropout(0.25), layers.Dense(1)])
    model.compile("sgd", "mse", **settings)
    return model, _behind_a_step(model)


def freeze(model: Any) -> None:
    model.layers[0].trainable = False


def test_a_model_that_stays_as_it_is_needs_nothing() -> None:
    _, followed = trained()
    assert (followed.capture(), followed.unverified) == ({}, [])


def test_a_frozen_layer_and_a_new_training_step_come_back() -> None:
    model, followed = trained()
    freeze(model)
    model.make_train_function(force=True)
    followed.look()
    assert followed.unverified == []
    other, resumed = trained()
    before = other.train_function
    resumed.restore(followed.capture())
    assert flags_of(other) == flags_of(model)
    assert other.train_function is not before
    resumed.look()
    assert resumed.capture() == followed.capture()
    assert resumed.unverified == []


def test_flags_that_the_training_step_does_not_know_are_named() -> None:
    model, followed = trained()
    freeze(model)
    followed.look()
    assert len(followed.unverified) == 1


def test_another_optimizer_is_named_and_refused() -> None:
    model, followed = trained()
    model.optimizer = keras.optimizers.Adam()
    assert "the optimizer" in followed.unverified[0]
    with pytest.raises(ResumeRefused, match="the optimizer"):
        trained()[1].restore(followed.capture())


def test_flags_of_another_model_are_refused() -> None:
    model, followed = trained()
    freeze(model)
    other = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    other.compile("sgd", "mse")
    with pytest.raises(ResumeRefused):
        Structure(other).restore(followed.capture())


def test_a_step_that_is_made_anew_before_a_later_fit_begins_its_steps_is_noticed() -> None:
    model, _ = trained()
    followed = Structure(model)
    followed.begin()
    freeze(model)
    model.make_train_function(force=True)
    followed.look()
    assert followed.capture()["remade"]


def test_a_step_that_is_made_anew_before_the_first_one_is_noticed() -> None:
    model = keras.Sequential([keras.layers.Dense(2), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    followed = Structure(model)
    model.make_train_function()
    followed.begin()
    freeze(model)
    model.make_train_function(force=True)
    followed.look()
    saved = followed.capture()
    assert saved["remade"]
    assert saved["begun"]["layers"] == [True, False, True]
    assert followed.unverified == []


def test_a_layer_that_is_frozen_before_the_step_is_traced_is_known_to_it() -> None:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    followed = Structure(model)
    model.make_train_function()
    followed.begin()
    freeze(model)
    followed.look()
    assert followed.unverified == []


def test_the_first_step_is_taken_with_the_flags_of_then() -> None:
    model, followed = trained()
    freeze(model)
    model.make_train_function(force=True)
    followed.look()
    other, resumed = trained()
    freeze(other)
    resumed.as_begun(followed.capture())
    assert other.layers[0].trainable
    resumed.restore(followed.capture())
    assert not other.layers[0].trainable


def test_settings_of_layers_and_optimizer_come_back() -> None:
    model, followed = trained()
    model.layers[0].kernel_regularizer.l2 = 0.5
    model.layers[1].rate = 0.75
    model.optimizer.clipnorm = 2.0
    model.make_train_function(force=True)
    followed.look()
    assert followed.unverified == []
    other, _ = trained()
    resumed = Structure(other)
    resumed.begin()
    resumed.restore(json.loads(json.dumps(followed.capture())))
    dense, dropout = other.layers[:2]
    assert (dense.kernel_regularizer.l2, dropout.rate, other.optimizer.clipnorm) == (0.5, 0.75, 2.0)
    resumed.look()
    assert resumed.capture() == followed.capture()
    assert resumed.unverified == []


def test_what_a_layer_sets_when_it_is_built_is_no_change() -> None:
    class Built(keras.layers.Dropout):
        def build(self, shape: Any) -> None:
            self.rate = 0.5

        def call(self, inputs: Any, **_: Any) -> Any:
            return inputs

    model = keras.Sequential([Built(0.1), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    followed = _behind_a_step(model)
    assert (followed.capture(), followed.unverified) == ({}, [])


def test_settings_that_the_training_step_does_not_know_are_named() -> None:
    model, followed = trained()
    model.layers[1].rate = 0.75
    followed.look()
    assert "rate" in followed.unverified[0]


def test_settings_that_each_step_reads_are_restored() -> None:
    model, followed = trained(run_eagerly=True)
    model.layers[1].rate = 0.75
    followed.look()
    assert followed.unverified == []
    other, resumed = trained(run_eagerly=True)
    resumed.restore(followed.capture())
    assert other.layers[1].rate == 0.75


def test_a_normalization_that_was_adapted_again_follows_its_variables() -> None:
    layer = keras.layers.Normalization()
    layer.adapt(np.arange(6.0).reshape(3, 2))
    model = keras.Sequential([keras.Input((2,)), layer, keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    followed = Structure(model)
    model.make_train_function()
    followed.begin()
    followed.look()
    model.make_train_function(force=True)
    followed.look()
    layer.adapt_mean.assign([7.0, 8.0])  # as the registry does
    followed.restore(followed.capture())
    assert np.ravel(layer.mean).tolist() == [7.0, 8.0]


def test_another_activation_is_named_and_refused() -> None:
    model, followed = trained()
    model.layers[0].activation = keras.activations.tanh
    model.make_train_function(force=True)
    followed.look()
    assert "activation" in followed.unverified[0]
    with pytest.raises(ResumeRefused, match="activation"):
        trained()[1].restore(followed.capture())


def test_flags_of_the_fit_that_traced_the_step_are_those_of_a_later_one() -> None:
    model, first = trained()
    assert first.capture() == {}
    traced_with = flags_of(model)
    freeze(model)
    later = Structure(model)
    later.begin()
    later.look()
    assert later.capture()["begun"] == traced_with
    assert later.unverified == [
        "trainable flags that changed without make_train_function(force=True)"
    ]
    other, _ = trained()
    freeze(other)
    resumed = Structure(other)
    assert resumed.begins_otherwise(later.capture())
    resumed.as_begun(later.capture())
    assert flags_of(other) == traced_with


def test_flags_of_a_step_that_a_compile_has_left_behind_are_forgotten() -> None:
    model, _ = trained()
    freeze(model)
    model.compile("sgd", "mse")
    later = _behind_a_step(model)
    assert (later.capture(), later.unverified) == ({}, [])


def test_the_first_step_builds_a_model_whose_flags_a_later_fit_knows() -> None:
    """Of Keras 2, the variables of its own metric are there before those of its layers."""
    tf_keras = pytest.importorskip("tf_keras")

    class Network(tf_keras.Model):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.dense = tf_keras.layers.Dense(1)
            self.seen = tf_keras.metrics.Mean()

        def call(self, inputs: Any) -> Any:
            return self.dense(inputs)

    model = Network()
    model.compile("sgd", "mse")
    first = _behind_a_step(model)
    assert first.unverified == []
    later = _behind_a_step(model)
    assert (later.capture(), later.unverified) == ({}, [])
    freeze(model)
    frozen = Structure(model)
    frozen.begin()
    frozen.look()
    assert frozen.unverified == [
        "trainable flags that changed without make_train_function(force=True)"
    ]


def test_a_vocabulary_of_keras_2_has_no_flag() -> None:
    tf_keras = pytest.importorskip("tf_keras")
    words = tf_keras.Input((1,), dtype="string")
    lookup = tf_keras.layers.StringLookup()
    lookup.adapt(["a", "b"])
    outputs = tf_keras.layers.Dense(1)(tf_keras.layers.CategoryEncoding(3)(lookup(words)))
    model = tf_keras.Model(words, outputs)
    assert len(model.variables) == 3
    assert flags_of(model)["variables"] == [True, True]
