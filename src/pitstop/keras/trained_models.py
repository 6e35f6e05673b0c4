"""Models that earlier fits of this process have trained, and the script has dropped since.

A sweep leaves such models behind: in cycles of references, and in the History that `fit` returned.
Where a later attempt leaves their training out, their variables do not come back, and nobody asks
for them.
"""

from __future__ import annotations

import weakref
from typing import Any

from pitstop.engine import reachable
from pitstop.engine.fence import observing
from pitstop.engine.present_identity import names_on_stack
from pitstop.keras.packages import kinds
from pitstop.tensorflow.variables import PathOf, VariableRegistry


class TrainedModels:
    """Looks where models have been made since it looked last."""

    def __init__(self, registry: VariableRegistry) -> None:
        self._registry = registry
        self._trained: list[tuple[weakref.ref[Any], set[int]]] = []
        self._looked = self._added = 0

    @observing()
    def add(self, model: Any, path_of: PathOf) -> None:
        others = [each for each in self._trained if each[0]() is not model]
        if len(others) < len(self._trained) and self._added == self._registry.created:
            return
        self._added = self._registry.created
        self._trained = [*others, (weakref.ref(model), self._registry.owned(path_of))]

    @observing()
    def look(self, model: Any) -> None:
        """Tells the registry which variables the script has dropped when it trains this model."""
        if self._looked == self._registry.created or not self._trained:
            return
        self._looked = self._registry.created
        held = [model, *reachable.find(names_on_stack(), kinds("Model"), lambda _: False).values()]
        self._registry.dropped = {
            index
            for made, indices in self._trained
            if not any(made() is each for each in held)
            for index in indices
        }
