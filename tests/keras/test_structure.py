"""Layers that callbacks freeze are frozen again; what was replaced is refused."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

from pitstop.errors import ResumeRefused
from pitstop.keras.structure import Structure, flags_of


def trained() -> tuple[Any, Structure]:
    """A model as it is after the first step of a fit."""
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    followed = Structure(model)
    model.make_train_function()
    followed.begin()
    followed.look()
    model.train_on_batch(np.zeros((1, 2)), np.zeros((1, 1)))
    followed.look()
    return model, followed


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
