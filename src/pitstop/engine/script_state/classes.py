"""Classes of the script by their names; a state names no others."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any


def named_class(form: str, modules: Mapping[str, Any]) -> type | None:
    """The class of the script that has this name."""
    module, _, name = form.partition(":")
    found: Any = modules.get(module) or (sys.modules.get(module) if module == "types" else None)
    for part in name.split("."):
        found = vars(found).get(part) if isinstance(found, type | type(sys)) else None
    return found if isinstance(found, type) else None


def record_class(form: str, modules: Mapping[str, Any]) -> type[tuple[Any, ...]] | None:
    """The named tuple of the script that has this name."""
    found = named_class(form, modules)
    is_record = found is not None and issubclass(found, tuple) and hasattr(found, "_fields")
    return found if is_record else None


def make_record(form: str, items: tuple[Any, ...], modules: Mapping[str, Any]) -> Any:
    """The named tuple of these items.

    Raises:
        KeyError: the script has no such class.
    """
    kind = record_class(form, modules)
    if kind is None:
        raise KeyError(form)
    return tuple.__new__(kind, items)
