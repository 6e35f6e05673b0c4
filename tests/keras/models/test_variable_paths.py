"""Which variables of the process are those of the trained model."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from pitstop.keras.models.variable_paths import OtherVariables, VariablePaths, parts_of
from pitstop.tensorflow.variables.variables import REGISTRY


@pytest.fixture
def collected_by_hand() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def _fitted() -> keras.Model:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(np.ones((4, 3)), np.ones((4, 1)), verbose=0)
    return model


@pytest.mark.usefixtures("collected_by_hand")
def test_a_model_that_nothing_holds_any_more_is_not_saved() -> None:
    REGISTRY.install()
    paths = VariablePaths(_fitted())
    paths.free_unheld()
    before = REGISTRY.created
    kept = _fitted()
    between = REGISTRY.created
    _fitted()
    assert len(list(REGISTRY.living(between))) > 0
    paths.free_unheld()
    assert list(REGISTRY.living(between)) == []
    assert len(list(REGISTRY.living(before))) >= len(kept.variables)


@pytest.mark.usefixtures("collected_by_hand")
def test_garbage_is_not_collected_for_variables_of_the_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    REGISTRY.install()
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    paths = VariablePaths(model)
    model.compile("adam", "mse")
    model.fit(np.ones((4, 3)), np.ones((4, 1)), verbose=0)
    calls: list[int] = []
    monkeypatch.setattr(gc, "collect", lambda: calls.append(1))
    paths.free_unheld()
    assert calls == []


class OnGpu:
    """A value in the memory of a device, whose place is not known."""

    device = "/job:localhost/replica:0/task:0/device:GPU:0"

    def __init__(self, values: list[float]) -> None:
        self.shape = (len(values),)
        self._values = np.array(values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        return self._values


def test_a_value_on_a_device_has_changed_if_it_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"0 same": [1.0, 1.0], "1 other": [1.0, 1.0], "2 longer": [1.0, 1.0]}
    monkeypatch.setattr(
        OtherVariables, "_held", lambda _: {name: OnGpu(value) for name, value in values.items()}
    )
    others = OtherVariables(lambda _: "")
    values |= {"1 other": [1.0, 2.0], "2 longer": [1.0, 1.0, 1.0], "3 new": [1.0]}
    assert others.changed() == ["other", "longer", "new"]


def test_in_a_notebook_each_replica_of_a_variable_has_a_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(REGISTRY, "only_owned", True)
    cpu = tf.distribute.MirroredStrategy(["CPU:0"])
    with cpu.scope():
        mirrored = keras.Variable([1.0, 2.0], name="kernel")
    ((part, path),) = parts_of(mirrored)
    assert (part is mirrored.value.values[0], path) == (True, mirrored.path)
    plain = keras.Variable([1.0], name="bias")
    assert parts_of(plain) == [(plain.value, plain.path)]
    monkeypatch.setattr(REGISTRY, "only_owned", False)
    assert parts_of(mirrored)[0][0] is mirrored.value
