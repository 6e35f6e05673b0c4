"""What callbacks remember: their attributes, saved and restored in place.

Lists, dictionaries and sets are refilled, not replaced: a script that keeps a
reference to a callback's list goes on seeing what the callback appends.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

import keras

from pitstop.engine.python_state import Encoder, NotPortable, decode

_NOT_STATE = frozenset({"_model", "model", "params", "progbar"})
_DISPLAY_ONLY = ("ProgbarLogger",)
_IDENTITIES = (
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    types.ModuleType,
    type,
    keras.Model,
    keras.Layer,
    keras.optimizers.Optimizer,
    keras.Variable,
)


def capture(callbacks: list[Any], encoder: Encoder) -> tuple[list[dict[str, Any]], list[str]]:
    """The attributes of each callback, and the names of those that have no portable form."""
    described, unverified = [], []
    for callback in callbacks:
        name = type(callback).__name__
        attributes: dict[str, Any] = {}
        for key, value in () if name in _DISPLAY_ONLY else vars(callback).items():
            if key in _NOT_STATE or callable(value) or isinstance(value, _IDENTITIES):
                continue
            try:
                attributes[key] = encoder.encode(value)
            except NotPortable as problem:
                unverified.append(f"{name}.{key}{problem.where} ({problem.type_name})")
        described.append({"class": name, "attributes": attributes})
    return described, unverified


def restore(
    callbacks: list[Any], described: list[dict[str, Any]], arrays: Mapping[str, memoryview]
) -> list[str]:
    """Gives each callback its attributes back.

    Returns:
        A sentence for each callback that no longer matches; those are left alone.
    """
    problems = []
    for index, saved in enumerate(described):
        callback = callbacks[index] if index < len(callbacks) else None
        if type(callback).__name__ != saved["class"]:
            now = type(callback).__name__ if callback is not None else "missing"
            problems.append(f"callback {index} was {saved['class']} and is {now}")
            continue
        for key, value in saved["attributes"].items():
            _restore_attribute(callback, key, decode(value, arrays))
    return problems


def _restore_attribute(callback: Any, key: str, value: Any) -> None:
    present = vars(callback).get(key)
    if type(present) is not type(value):
        vars(callback)[key] = value
    elif isinstance(present, list):
        present[:] = value
    elif isinstance(present, dict | set):
        present.clear()
        present.update(value)
    else:
        vars(callback)[key] = value
