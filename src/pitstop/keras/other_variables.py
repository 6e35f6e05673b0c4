"""Variables beside those of the model that is trained: whether its training changes them."""

from __future__ import annotations

from typing import Any

from pitstop.tensorflow import private
from pitstop.tensorflow.variables import PathOf, VariableRegistry


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
