"""Which variables of the process are those of the trained model."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import keras
import numpy as np
import pytest

from pitstop.keras.variable_paths import VariablePaths
from pitstop.tensorflow.variables import REGISTRY


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
