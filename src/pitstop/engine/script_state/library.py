"""What the framework's adapter says about objects of the libraries."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np


class Library(Protocol):
    """Which objects of a framework hold state of the script, or lead to some."""

    set_by_callbacks: frozenset[str]
    """Attributes of a library's objects that each training makes anew."""

    def is_opened(self, kind: type) -> bool:
        """Whether the attributes of a library's objects are state."""

    def is_followed(self, kind: type) -> bool:
        """Whether such objects may hold functions and objects of the script."""

    def is_elsewhere(self, kind: type) -> bool:
        """Whether such objects are saved by other means."""

    def script_fields(self, value: Any) -> dict[str, Any] | None:
        """The attributes that a script has put on a library's object; None where it puts none."""

    def own_names(self, kind: type) -> frozenset[str]:
        """Attributes that a library's own code sets on the script's functions and objects."""

    def remade_names(self, kind: type) -> frozenset[str]:
        """Attributes that a library's own code sets, and makes again where they are missing."""

    def is_asked(self, owner: Any, value: Any) -> bool:
        """Whether an attribute of a library's object is what the script has asked for now."""

    def functions_of(self, value: Any) -> Iterator[Any]:
        """Python functions behind an object that its attributes do not show."""

    def array_of(self, value: Any) -> np.ndarray[Any, Any] | None:
        """The value of a tensor, strings as objects; None for what is none."""

    def parts_of(self, value: Any) -> list[np.ndarray[Any, Any]]:
        """The values of a tensor that consists of several, which is not carried; else none."""

    def tensor_of(self, value: Any) -> Any:
        """A tensor of this array, or of strings in nested tuples."""

    def is_table(self, kind: type) -> bool:
        """Whether such objects are lookup tables that can be changed."""

    def entries_of(self, table: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The keys and the values in such a table."""

    def refill_table(self, table: Any, keys: Any, values: Any) -> None:
        """Gives such a table other entries, as `tensor_of` takes them."""
