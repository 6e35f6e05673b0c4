"""The packages that Keras comes in: `keras` (Keras 3) and `tf_keras` (Keras 2)."""

import functools
import importlib
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

KERAS_3, KERAS_2 = "keras", "tf_keras"
_PRIVATE = {KERAS_3: "pitstop.keras.private", KERAS_2: "pitstop.keras.legacy_private"}
_HOOKS = {KERAS_3: "pitstop.keras.hooks", KERAS_2: "pitstop.keras.legacy_hooks"}
SEQUENCES = ("utils.PyDataset", "utils.Sequence")
SOURCES = (f"{KERAS_3}.", f"{KERAS_2}.")  # what the names of Keras' own modules begin with


def kinds(*names: str) -> tuple[Any, ...]:
    return _kinds_in(imported(), names)


def imported() -> tuple[str, ...]:
    return tuple(filter(_is_imported, _PRIVATE))


def _is_imported(package: str) -> bool:
    module = sys.modules.get(package)
    return module is not None and not getattr(module.__spec__, "_initializing", False)


@functools.lru_cache(maxsize=256)
def _kinds_in(packages: Iterable[str], names: Iterable[str]) -> tuple[type, ...]:
    found = (_member(sys.modules[package], name) for package in packages for name in names)
    return tuple(kind for kind in found if isinstance(kind, type))


def _member(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


def package_of(thing: Any) -> str:
    roots = {base.__module__.partition(".")[0] for base in type(thing).__mro__}
    return KERAS_2 if KERAS_2 in roots else KERAS_3


def public(thing: Any) -> ModuleType:
    return importlib.import_module(package_of(thing))


def private_of(thing: Any) -> ModuleType:
    return importlib.import_module(_PRIVATE[package_of(thing)])


def hooks_of(package: str) -> ModuleType:
    return importlib.import_module(_HOOKS[package])
