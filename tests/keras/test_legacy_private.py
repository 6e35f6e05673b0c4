"""Private names of Keras 2."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pitstop.errors import UnsupportedVersion
from pitstop.keras import common_private
from pitstop.tensorflow.variables.naming import Naming, path_of

tf_keras = pytest.importorskip("tf_keras")
legacy_private = pytest.importorskip("pitstop.keras.legacy_private")
ROWS = np.ones((8, 2), "float32")


def compiled(optimizer: Any, built: bool = True) -> Any:
    layers = [tf_keras.Input((2,))] if built else []
    model = tf_keras.Sequential([*layers, tf_keras.layers.Dense(1)])
    model.compile(optimizer, "mse")
    return model


def test_this_version_has_all_hook_points() -> None:
    legacy_private.check()


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (legacy_private.DataHandler, "steps"),
        (legacy_private.CallbackList, "on_test_end"),
        (legacy_private.tf_utils, "sync_to_numpy_or_python_type"),
    ],
)
def test_a_hook_point_that_moved_is_named(
    owner: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, lambda other: other)
    with pytest.raises(UnsupportedVersion, match=name):
        legacy_private.check()


@pytest.mark.parametrize("family", [tf_keras.optimizers, tf_keras.optimizers.legacy])
def test_the_learning_rate_is_a_number_or_of_a_schedule(family: Any) -> None:
    fixed = compiled(family.SGD(0.25))
    assert legacy_private.learning_rate(fixed) == 0.25
    assert legacy_private.known_learning_rate(fixed) == 0.25
    assert not legacy_private.has_schedule(fixed)
    halved = tf_keras.optimizers.schedules.ExponentialDecay(0.5, 1, 0.5)
    scheduled = compiled(family.SGD(halved))
    assert legacy_private.has_schedule(scheduled)
    assert legacy_private.known_learning_rate(scheduled) == 0.5


def test_a_schedule_of_the_script_is_not_run() -> None:
    schedule: Any = tf_keras.optimizers.schedules.LearningRateSchedule

    class Own(schedule):
        def __call__(self, step: Any) -> Any:
            return 0.5 / (1.0 + float(step))

    assert legacy_private.known_learning_rate(compiled(tf_keras.optimizers.SGD(Own()))) is None


def test_a_model_that_its_first_batch_builds_has_no_variables_yet() -> None:
    model = compiled("sgd", built=False)
    assert common_private.built_variables(model) == []
    model.fit(ROWS, ROWS[:, :1], verbose=0)
    names = [path_of(each).rpartition("/")[2] for each in common_private.built_variables(model)]
    assert names == ["kernel", "bias"]


def test_a_model_that_cannot_be_called_is_left_as_it_is() -> None:
    """Such as a GAN of two networks, which only its `train_step` calls."""
    model, source = type("Gan", (tf_keras.Model,), {})(), legacy_private.DataHandler(ROWS)
    model.network = tf_keras.Sequential([tf_keras.Input((2,)), tf_keras.layers.Dense(1)])
    model.compile("rmsprop")
    before = len(common_private.optimizer_variables(model.optimizer))
    legacy_private.build_symbolically(model, SimpleNamespace(_get_iterator=lambda: source._dataset))
    assert len(common_private.optimizer_variables(model.optimizer)) == before


@pytest.mark.parametrize("family", [tf_keras.optimizers, tf_keras.optimizers.legacy])
def test_the_variables_of_an_optimizer_are_those_of_the_model_too(family: Any) -> None:
    model = compiled(family.Adam())
    model.fit(ROWS, ROWS[:, :1], verbose=0)
    found = {id(each) for each in common_private.model_variables(model)}
    assert {id(each) for each in model.optimizer.variables()} <= found


def test_the_numbers_in_names_go_on() -> None:
    names = Naming()
    legacy_private.watch_names(names)
    tf_keras.layers.Dense(1)
    before = names.counts()["tf_keras"]
    assert before["/dense"] >= 1
    names.advance({"tf_keras": {**before, "/dense": before["/dense"] + 5}, "keras": {"/dense": 99}})
    assert names.counts()["tf_keras"]["/dense"] == before["/dense"] + 5


def test_the_stream_of_seeds_is_taken_and_set() -> None:
    tf_keras.utils.set_random_seed(3)
    state = legacy_private._seeds()
    draw = legacy_private._backend._SEED_GENERATOR.generator.random
    first = draw()
    legacy_private._set_seeds(state)
    assert legacy_private._backend._SEED_GENERATOR.generator.random() == first
