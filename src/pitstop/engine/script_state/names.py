"""What the objects of a script are called in a saved state."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np


class Names:
    """The names of objects, and the objects of names; they stay the same from walk to walk."""

    def __init__(self) -> None:
        self._by_id: dict[int, tuple[Any, str]] = {}
        self._taken: dict[str, int] = {}

    def name_of(self, value: Any, wanted: str) -> str:
        """The name of an object: the one that it has, or this one, made unique."""
        known = self._by_id.get(id(value))
        if known is not None and _kept(known[0]) is value:
            return known[1]
        name = wanted
        while name in self._taken:
            self._taken[wanted] += 1
            name = f"{wanted}#{self._taken[wanted]}"
        self.give(value, name)
        return name

    def give(self, value: Any, name: str) -> None:
        """An object has this name."""
        # Large arrays are not kept alive for their name.
        keeper = weakref.ref(value) if isinstance(value, np.ndarray) else value
        self._by_id[id(value)] = (keeper, name)
        self._taken.setdefault(name, 0)

    def objects(self) -> dict[str, Any]:
        """The living objects by name."""
        return {
            name: value
            for keeper, name in self._by_id.values()
            if (value := _kept(keeper)) is not None
        }

    def keep(self, names: Mapping[str, Any]) -> None:
        """Forgets all others: objects that are gone give their identity to new ones."""
        self._by_id = {key: each for key, each in self._by_id.items() if each[1] in names}


def _kept(keeper: Any) -> Any:
    return keeper() if type(keeper) is weakref.ref else keeper
