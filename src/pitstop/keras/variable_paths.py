"""Readable names of variables: those that Keras gives them."""

from __future__ import annotations

from typing import Any

from pitstop.keras.packages import private_of
from pitstop.tensorflow.variables import REGISTRY


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
