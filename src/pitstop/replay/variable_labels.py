"""What a variable is called in a record."""

from __future__ import annotations

from typing import Any

from pitstop.tensorflow.variables import VariableRegistry


class VariableLabels:
    """Names with numbers, since names alone are not unique; -1 where a variable is not known.

    Args:
        registry: the variables of this process.
    """

    def __init__(self, registry: VariableRegistry) -> None:
        self._registry = registry
        self._created = -1
        self._numbers: dict[int, int] = {}

    def of(self, variable: Any) -> str:
        """Its number, name and type."""
        # New variables may get the identity of old ones.
        if self._created != self._registry.created:
            self._created, self._numbers = self._registry.created, self._registry.indices()
        number = self._numbers.get(id(variable), -1)
        return f"{number}: {variable.name} {variable.dtype.name}{variable.shape}"
