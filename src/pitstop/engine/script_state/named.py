"""Functions and classes that a state names: those of the script, and functions that do no harm.

A state may come from anybody who can write the run's folder or its mirror.  Nothing is imported
for it, and a name that leads to another function than the one it says is none.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from pitstop.engine.witness import is_user_file

_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, np.ufunc)

_HARMLESS = ("math", "_operator", "keras.src.ops.", "keras.ops.")
_HARMLESS_BUILTINS = frozenset({"abs", "all", "any", "len", "max", "min", "round", "sum"})


def name_of_function(value: Any) -> str:
    """Module and name of a function that `named_function` finds; empty for all else."""
    is_function = issubclass(type(value), _FUNCTIONS)
    name = _name_of(value) if is_function else ""
    return name if is_function and named_function(name) is value else ""


def _name_of(function: Any) -> str:
    module = getattr(function, "__module__", None) or "numpy"
    return f"{module}:{function.__name__}"


def named_function(name: str) -> Any:
    """The function of this name, in a module that the script has imported; None if it may not be.

    Those are comparisons and arithmetic of Python, NumPy and Keras, and functions that
    a module of the script's own defines.
    """
    module, _, function = name.partition(":")
    found = getattr(sys.modules.get(module), function, None)
    if not isinstance(found, _FUNCTIONS) or _name_of(found) != name:
        return None
    return found if _may_be_called(found, module) else None


def _may_be_called(function: Any, module: str) -> bool:
    if isinstance(function, np.ufunc):
        return True
    if module == "builtins":
        return function.__name__ in _HARMLESS_BUILTINS
    file = getattr(sys.modules[module], "__file__", None)
    return module.startswith(_HARMLESS) or (isinstance(file, str) and is_user_file(file))


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
