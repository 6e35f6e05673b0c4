"""Numbers that code of the script counts while a step is traced.

A resume sets them as they were, and traces the step again.
"""

from typing import Any

from pitstop.keras.common_private import layers_of
from pitstop.keras.script_library import names_set_by_libraries


class ModelNumbers:
    """Those in attributes of a model and its layers."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._kept: list[tuple[Any, str, int | float]] = []

    def keep(self) -> None:
        self._kept = [
            (owner, name, value)
            for owner in (self._model, *layers_of(self._model))
            for name, value in vars(owner).items()
            if type(value) in (int, float) and name not in names_set_by_libraries(owner.__class__)
        ]

    def put_back(self) -> None:
        for owner, name, value in self._kept:
            if vars(owner).get(name) != value:
                setattr(owner, name, value)
