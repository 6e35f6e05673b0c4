"""What a loop of `pitstop.start` trains, by the names it was given under."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from pitstop.engine.saved_state import SavedState
from pitstop.loop.tracked import leaves_of, variables_of
from pitstop.tensorflow.trainables import NamedVariable, Trainables, is_built, named, optimizes
from pitstop.tensorflow.variables import saved_variables

Trackable = tf.__internal__.tracking.Trackable


def of_objects(objects: Mapping[str, Any]) -> Trainables:
    """Models, modules, optimizers and variables; random generators and metrics are left out."""
    held = {name: each for name, each in objects.items() if _is_held(each)}
    leaves = dict(leaves_of(held))
    models = {name: each for name, each in leaves.items() if _is_model(each)}
    # Under the names that the loop's cuts give: the last, where there are several.
    names = {id(variable): path for path, variable in variables_of(objects)}
    optimizers = [each for each in leaves.values() if optimizes(each)]
    compiled = (getattr(each, "optimizer", None) for each in models.values())
    optimizers += [each for each in compiled if each is not None]
    weights = [each for each in leaves.values() if not optimizes(each)]
    built = [each for each in optimizers if is_built(each)]
    return Trainables(held, models, _named(weights, names), _named(built, names))


def build_optimizers(objects: Mapping[str, Any], saved: SavedState) -> None:
    """Creates the slots that optimizers had when they were saved, which their first step makes.

    A slot carries the path of its variable in its name, see `Optimizer.add_variable_from_reference`
    of Keras.
    """
    leaves = dict(leaves_of(objects))
    paths = [item.path for item in saved_variables(saved)]
    trained = [
        variable
        for each in leaves.values()
        if not optimizes(each)
        for variable in getattr(each, "trainable_variables", ())
        if hasattr(variable, "path")
    ]
    for name, each in leaves.items():
        if optimizes(each) and not is_built(each):
            slots = [path for path in paths if path.startswith(f"{name}/")]
            _build(each, trained, slots)


def _build(optimizer: Any, trained: list[Any], slots: list[str]) -> None:
    marks = {id(each): f"/{each.path.replace('/', '_')}_" for each in trained}
    known = [each for each in trained if any(marks[id(each)] in path for path in slots)]
    if known:
        optimizer.build(known)


def sessions_of(objects: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in objects.items() if isinstance(each, tf.compat.v1.Session)}


def _named(holders: list[Any], names: Mapping[int, str]) -> tuple[NamedVariable, ...]:
    variables = [variable for each in holders for variable in _variables_of(each)]
    return named((names[id(each)], each) for each in variables if id(each) in names)


def _variables_of(value: Any) -> list[Any]:
    if isinstance(value, tf.Variable):
        return [value]
    # Keras' `weights` are its variables without the counters of Dropout and its like.
    found = getattr(value, "weights", None) or getattr(value, "variables", None)
    listed = found if isinstance(found, list | tuple) else ()
    return [each if isinstance(each, tf.Variable) else each.value for each in listed]


def _is_held(value: Any) -> bool:
    leaves = [each for _, each in leaves_of({"": value})]
    unheld = (tf.random.Generator, tf.compat.v1.Session)
    return bool(leaves) and all(
        isinstance(each, Trackable) and not isinstance(each, unheld) for each in leaves
    )


def _is_model(value: Any) -> bool:
    # Keras' own are no modules.
    is_kind = isinstance(value, tf.Module) or hasattr(value, "save_weights")
    return is_kind and not optimizes(value)
