"""What the framework's adapter says about objects of the libraries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np


class Library(Protocol):
    """Which objects of a framework hold state of the script, or lead to some."""

    def is_opened(self, kind: type) -> bool:
        """Whether the attributes of a library's objects are state."""

    def is_followed(self, kind: type) -> bool:
        """Whether such objects may hold functions and objects of the script."""

    def is_elsewhere(self, kind: type) -> bool:
        """Whether such objects are saved by other means."""

    def own_names(self, kind: type) -> frozenset[str]:
        """Attributes that a library's own code sets on objects of a class of the script."""

    def functions_of(self, value: Any) -> Iterator[Any]:
        """Python functions behind an object that its attributes do not show."""

    def array_of(self, value: Any) -> np.ndarray[Any, Any] | None:
        """The value of a tensor; None for what is none."""

    def tensor_of(self, array: np.ndarray[Any, Any]) -> Any:
        """A tensor of this value."""

    def table_of(self, value: Any) -> Mapping[Any, Any] | None:
        """The content of a lookup table that can be changed; None for what is none."""

    def refill_table(self, table: Any, content: Mapping[Any, Any]) -> None:
        """Gives such a table its content."""
