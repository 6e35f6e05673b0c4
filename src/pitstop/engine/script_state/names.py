"""What the objects of a script are called in a saved state; functions and classes that it names.

A state may come from anybody: nothing is imported for it.
"""

import enum
import sys
import types
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from pitstop.engine.audit_events import identity
from pitstop.engine.frames import is_user_file


class Names:
    """The names of objects, and the objects by name; both stay the same from walk to walk."""

    def __init__(self) -> None:
        self._by_id: dict[int, tuple[Any, str]] = {}
        self._taken: dict[str, int] = {}

    def name_of(self, value: Any, wanted: str) -> str:
        known = self._by_id.get(identity(value))
        if known is not None and _kept(known[0]) is value:
            return known[1]
        name = wanted
        while name in self._taken:
            self._taken[wanted] += 1
            name = f"{wanted}#{self._taken[wanted]}"
        self.give(value, name)
        return name

    def give(self, value: Any, name: str) -> None:
        # Large arrays are not kept alive for their name.
        keeper = weakref.ref(value) if isinstance(value, np.ndarray) else value
        self._by_id[identity(value)] = (keeper, name)
        self._taken.setdefault(name, 0)

    def objects(self) -> dict[str, Any]:
        return {
            name: value
            for keeper, name in self._by_id.values()
            if (value := _kept(keeper)) is not None
        }

    def keep(self, names: Mapping[str, Any]) -> None:
        """Forgets all other names: a new object may get the identity of one that is gone."""
        self._by_id = {key: each for key, each in self._by_id.items() if each[1] in names}


def _kept(keeper: Any) -> Any:
    return keeper() if type(keeper) is weakref.ref else keeper


_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, np.ufunc)

WEAK = "weakref:ref"

_PLAIN_MODULES = ("types", "argparse", "collections")
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
    """A function of Python, NumPy, Keras or the script by its name; None for any other."""
    module, _, function = name.partition(":")
    found = getattr(sys.modules.get(module), function, None)
    if not isinstance(found, _FUNCTIONS) or _name_of(found) != name:
        return None
    if module == "builtins":
        return found if function in _HARMLESS_BUILTINS else None
    file = getattr(sys.modules[module], "__file__", None)
    is_own = isinstance(file, str) and is_user_file(file)
    is_harmless = isinstance(found, np.ufunc) or module.startswith(_HARMLESS)
    return found if is_own or is_harmless else None


def named_class(form: str, modules: Mapping[str, Any]) -> type | None:
    module, _, name = form.partition(":")
    found: Any = modules.get(module) or (
        sys.modules.get(module) if module in _PLAIN_MODULES else None
    )
    for part in name.split("."):
        found = vars(found).get(part) if isinstance(found, type | type(sys)) else None
    return found if isinstance(found, type) else None


def form_of(kind: type, modules: Mapping[str, Any]) -> str:
    """The form by which `named_class` finds a class, also where two modules have one name."""
    module, name = kind.__module__, kind.__qualname__
    if named_class(f"{module}:{name}", modules) in (kind, None):
        return f"{module}:{name}"
    others = (f"{each}:{name}" for each in modules if each.startswith(f"{module}#"))
    found = (each for each in others if named_class(each, modules) is kind)
    return next(found, f"another {module}:{name}")


class _Gone:
    pass


def make_record(form: str, items: tuple[Any, ...], modules: Mapping[str, Any]) -> Any:
    """The tuple of the script's class with these items, or its flags with this value.

    Of `WEAK`, a weak reference to the item.  `KeyError` where it has no such class.
    """
    if form == WEAK:
        # To None there is none: what it referred to is gone.
        return weakref.ref(_Gone() if items[0] is None else items[0])
    kind = named_class(form, modules)
    if kind is not None and issubclass(kind, enum.Flag):
        (value,) = items
        return kind(int(value))
    if kind is None or not issubclass(kind, tuple):
        raise KeyError(form)
    return tuple.__new__(kind, items)
