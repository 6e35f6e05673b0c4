"""What a loop trains, by the names it was given under."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.loop.trainables import build_optimizers, of_objects, sessions_of


def model() -> Any:
    keras.utils.clear_session()
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="deep")])


def names(variables: Any) -> list[str]:
    return [each.name for each in variables]


def test_objects_are_known_by_their_keywords() -> None:
    it = model()
    found = of_objects(
        {
            "net": it,
            "offset": tf.Variable(1.0),
            "rng": tf.random.Generator.from_seed(1),
            "losses": [],
            "mean": keras.metrics.Mean(),
            "epoch": {"n": 1},
        }
    )
    assert found.objects.keys() == {"net", "offset"}
    assert list(found.models) == ["net"]
    assert names(found.weights) == [
        "net/sequential/deep/kernel",
        "net/sequential/deep/bias",
        "offset",
    ]
    assert found.optimizer == ()


def test_an_optimizer_that_is_given_twice_has_the_last_name() -> None:
    it = model()
    it.compile(keras.optimizers.SGD(momentum=0.9), "mse")
    it.optimizer.build(it.trainable_variables)
    found = of_objects({"model": it, "opt": it.optimizer})
    assert {name.split("/")[0] for name in names(found.optimizer)} == {"opt"}
    assert len(found.optimizer) == len(it.optimizer.variables)


def test_an_optimizer_without_slots_has_no_variables_to_take() -> None:
    found = of_objects({"model": model(), "optimizer": keras.optimizers.Adam()})
    assert found.optimizer == ()
    assert "optimizer" in found.objects


def test_several_models_keep_their_places() -> None:
    found = of_objects({"nets": [model(), model()], "by_name": {"a": model()}})
    assert list(found.models) == ["nets/0", "nets/1", "by_name/a"]
    assert found.objects.keys() == {"nets", "by_name"}


def test_a_model_without_variables_is_told() -> None:
    unbuilt = keras.Sequential([keras.layers.Dense(2)])
    assert of_objects({"net": unbuilt}).unbuilt == ["net"]
    assert of_objects({"net": model()}).unbuilt == []


def test_slots_are_made_for_the_variables_that_had_some() -> None:
    one, other = model(), keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="top")])
    optimizer = keras.optimizers.Adam()
    reference = keras.optimizers.Adam()
    reference.build(other.trainable_variables)
    alike = {"dtype": "float32", "shape": [], "tensor": ""}
    described = [
        {**alike, "index": index, "path": f"opt/{each.path}", "name": each.path}
        for index, each in enumerate(reference.variables)
    ]
    objects = {"one": one, "other": other, "opt": optimizer}
    build_optimizers(objects, SavedState({"variables": described}, {}))
    assert [np.shape(each) for each in optimizer.variables] == [
        np.shape(each) for each in reference.variables
    ]
    assert all("top" in each.path for each in optimizer.variables[2:])


def test_sessions_are_found() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        assert sessions_of({"session": session, "n": 1}) == {"session": session}
