"""The variable that `keras.random` draws from is there when the variables are restored."""

from __future__ import annotations

from typing import Any

import keras
import pytest
from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable

from pitstop.keras import global_seeds, private
from pitstop.tensorflow.variables.variables import VariableRegistry


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> VariableRegistry:
    # Setting it to itself brings it back after the test.
    monkeypatch.setattr(BaseResourceVariable, "__init__", BaseResourceVariable.__init__)
    made = VariableRegistry()
    made.install()
    monkeypatch.setattr(global_seeds, "REGISTRY", made)
    private.make_global_seeds("")
    return made


class Saved:
    """A cut, of which nothing else is looked at."""

    def __init__(self, registry: VariableRegistry) -> None:
        held = registry.hold()
        self.state: dict[str, Any] = {
            **held.state,
            "fit": {"global_seeds": global_seeds.number(private)},
        }


def test_it_comes_back_with_its_name_and_its_number(registry: VariableRegistry) -> None:
    kept = keras.Variable(1.0)
    keras.random.normal(())
    seeds, saved = private.global_seeds(), Saved(registry)
    number = global_seeds.number(private)
    private.make_global_seeds("")  # as `set_random_seed` does from Keras 3.13 on
    registry.__init__()  # type: ignore[misc]
    assert global_seeds.number(private) == -1
    global_seeds.make(private, saved)  # type: ignore[arg-type]
    made = private.global_seeds()
    assert made is not seeds
    assert made.path == seeds.path
    assert global_seeds.number(private) == number == 1
    global_seeds.make(private, saved)  # type: ignore[arg-type]
    assert private.global_seeds() is made
    assert float(kept) == 1.0


def test_one_that_had_been_dropped_is_dropped(registry: VariableRegistry) -> None:
    saved = Saved(registry)
    keras.random.normal(())
    global_seeds.make(private, saved)  # type: ignore[arg-type]
    assert private.global_seeds() is None


def test_a_cut_of_an_older_version_changes_nothing(registry: VariableRegistry) -> None:
    saved = Saved(registry)
    del saved.state["fit"]["global_seeds"]
    keras.random.normal(())
    seeds = private.global_seeds()
    global_seeds.make(private, saved)  # type: ignore[arg-type]
    assert private.global_seeds() is seeds


def test_one_that_is_no_variable_of_this_process_alone_is_left(registry: VariableRegistry) -> None:
    keras.random.normal(())
    registry.__init__()  # type: ignore[misc]
    saved, seeds = Saved(registry), private.global_seeds()
    assert saved.state["fit"]["global_seeds"] is None
    global_seeds.make(private, saved)  # type: ignore[arg-type]
    assert private.global_seeds() is seeds
