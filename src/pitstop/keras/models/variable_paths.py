"""The variables of a `fit` by the names that Keras gives them; and those of other models."""

import gc
import weakref
from typing import Any

import tensorflow as tf

from pitstop.engine.audit_events import identity
from pitstop.engine.fence import observing
from pitstop.engine.trainings.present_identity import names_on_stack
from pitstop.engine.values import reachable
from pitstop.keras.common_private import model_variables
from pitstop.keras.packages import kinds
from pitstop.tensorflow import private, strategies
from pitstop.tensorflow.variables.naming import of_replica, path_of, value_of
from pitstop.tensorflow.variables.variables import REGISTRY, PathOf


class TrainedModels:
    """Looks where models have been made since it looked last."""

    def __init__(self) -> None:
        self._trained: list[tuple[weakref.ref[Any], set[int]]] = []
        self._looked = self._added = 0

    @observing()
    def add(self, model: Any, path_of: PathOf) -> None:
        others = [each for each in self._trained if each[0]() is not model]
        if len(others) < len(self._trained) and self._added == REGISTRY.created:
            return
        self._added = REGISTRY.created
        self._trained = [*others, (weakref.ref(model), REGISTRY.owned(path_of))]

    @observing()
    def look(self, model: Any) -> None:
        if self._looked == REGISTRY.created or not self._trained:
            return
        self._looked = REGISTRY.created
        held = [model, *reachable.find(names_on_stack(), kinds("Model"), lambda _: False).values()]
        REGISTRY.dropped = {
            index
            for made, indices in self._trained
            if not any(made() is each for each in held)
            for index in indices
        }


def parts_of(variable: Any) -> list[tuple[Any, str]]:
    """The `tf.Variable`s of one of a model, each with its path: in a notebook, of each replica.

    A script's are known by their order.
    """
    value, path = value_of(variable), path_of(variable)
    parts = strategies.parts_of(value) if REGISTRY.only_owned else (value,)
    return [(part, of_replica(path, number)) for number, part in enumerate(parts)]


class VariablePaths:
    """The paths of a model's variables, of its metrics' and its optimizer's; looked up once."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._paths: dict[int, str] = {}
        self._created = -1
        self._freed = REGISTRY.created

    def __call__(self, variable: Any) -> str:
        """The path of a `tf.Variable`; empty for one that is not the model's."""
        if identity(variable) not in self._paths and self._created != REGISTRY.created:
            self._created = REGISTRY.created
            found = model_variables(self._model)
            self._paths = {identity(part): path for each in found for part, path in parts_of(each)}
        return self._paths.get(identity(variable), "")

    def free_unheld(self) -> None:
        """Frees models that callbacks have made and no longer hold: Python would do so later."""
        since, self._freed = self._freed, REGISTRY.created
        if any(not self(each) for each in REGISTRY.living(since)):
            gc.collect()


class OtherVariables:
    """Those of a notebook's process, which are not saved: they may be of other trainings.

    A change shows by the place in memory: TensorFlow writes elsewhere while the old value is held.
    On a device, whose places are not known, it shows by the value.
    """

    def __init__(self, path_of: PathOf) -> None:
        self._path_of = path_of
        self._before = self._held()

    def changed(self) -> list[str]:
        return [
            name.partition(" ")[2]
            for name, value in self._held().items()
            if name not in self._before or _differs(value, self._before[name])
        ]

    def _held(self) -> dict[str, Any]:
        return REGISTRY.others(self._path_of) if REGISTRY.only_owned else {}


def _differs(value: Any, before: Any) -> bool:
    if "CPU" in value.device:
        return _place(value) != _place(before)
    return value.shape != before.shape or not bool(tf.reduce_all(tf.equal(value, before)))


def _place(value: Any) -> object:
    return private.as_numpy(value).__array_interface__["data"][0]
