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
    """The class of tuples of the script that has this name."""
    found = named_class(form, modules)
    return found if found is not None and issubclass(found, tuple) else None


def make_record(form: str, items: tuple[Any, ...], modules: Mapping[str, Any]) -> Any:
    """The tuple of the script's class with these items.

    Raises:
        KeyError: the script has no such class.
    """
    kind = record_class(form, modules)
    if kind is None:
        raise KeyError(form)
    return tuple.__new__(kind, items)
