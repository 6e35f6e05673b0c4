"""The variables of a `fit` by the names that Keras gives them; and those beside its model."""

from __future__ import annotations

from typing import Any

from pitstop.keras.packages import private_of
from pitstop.tensorflow import private
from pitstop.tensorflow.variables import REGISTRY, PathOf, VariableRegistry


class VariablePaths:
    """The paths of a model's variables, of its metrics' and its optimizer's; looked up once."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._paths: dict[int, str] = {}
        self._created = -1

    def __call__(self, variable: Any) -> str:
        """The path of a `tf.Variable`; empty for one that is not the model's."""
        if id(variable) not in self._paths and self._created != REGISTRY.created:
            self._created = REGISTRY.created
            names = private_of(self._model)
            self._paths = {
                id(names.value_of(each)): names.path_of(each)
                for each in names.model_variables(self._model)
            }
        return self._paths.get(id(variable), "")


class OtherVariables:
    """Those of a notebook's process, which are not saved: they may be of other trainings.

    What is held shows a change by its place in memory: TensorFlow writes an update elsewhere
    while somebody holds the value of before.
    """

    def __init__(self, registry: VariableRegistry, path_of: PathOf) -> None:
        self._registry = registry
        self._path_of = path_of
        self._before = self._held()

    def changed(self) -> list[str]:
        """Names of those that have changed, or have come, since the training began."""
        return [
            name.partition(" ")[2]
            for name, value in self._held().items()
            if name not in self._before or _place(value) != _place(self._before[name])
        ]

    def _held(self) -> dict[str, Any]:
        return self._registry.others(self._path_of) if self._registry.only_owned else {}


def _place(value: Any) -> object:
    # On a device, where no training is called exact, a look would be a copy.
    is_near = "CPU" in value.device
    return private.as_numpy(value).__array_interface__["data"][0] if is_near else None
