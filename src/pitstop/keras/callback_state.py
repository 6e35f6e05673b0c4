"""What callbacks remember: their attributes, saved and restored in place.

Lists, dictionaries and sets are refilled, not replaced: a script that keeps a
reference to a callback's list goes on seeing what the callback appends.

Functions that a module names are saved by that name (Keras' `monitor_op` is
chosen late, together with the sign of `min_delta`); a function without one is
left to the script, which makes it again.
"""

from __future__ import annotations

import csv
import io
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras

from pitstop.engine import script_random
from pitstop.engine.made_folders import is_moved
from pitstop.engine.python_state import Encoder, NotPortable, decode
from pitstop.keras import callback_match
from pitstop.keras.named_function import FUNCTIONS, name_of, named_function
from pitstop.keras.own_places import foreign_path

_NOT_STATE = frozenset({"_model", "model", "params", "progbar"})
_DISPLAY_ONLY = ("ProgbarLogger",)
_FUNCTION_MARK = "$function"
_IDENTITIES = (
    types.MethodType,
    types.ModuleType,
    io.IOBase,  # see open_files
    csv.DictWriter,  # made again from the file and the keys
    *script_random.KINDS,  # restored in place, wherever the script keeps them
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
            try:
                if _is_state(key, value) and not _is_method(callback, key):
                    attributes[key] = _encode(value, encoder)
            except NotPortable as problem:
                if _is_of_keras(callback):
                    # Writers and queues of Keras' own, which it makes again; see event_files.
                    continue
                unverified.append(f"{name}.{key}{problem.where} ({problem.type_name})")
        described.append({"class": name, "attributes": attributes})
    return described, unverified


def _is_method(callback: Any, key: str) -> bool:
    """Whether the script has put a function in the place of a method, as `LambdaCallback` does."""
    return callable(getattr(type(callback), key, None))


def _is_of_keras(callback: Any) -> bool:
    return type(callback).__module__.startswith("keras.")


def _is_state(key: str, value: Any) -> bool:
    if isinstance(value, FUNCTIONS):
        return named_function(name_of(value)) is value
    return key not in _NOT_STATE and not callable(value) and not isinstance(value, _IDENTITIES)


def _encode(value: Any, encoder: Encoder) -> Any:
    if isinstance(value, FUNCTIONS):
        return {_FUNCTION_MARK: name_of(value)}
    return encoder.encode(value)


def restore(
    callbacks: list[Any], described: list[dict[str, Any]], arrays: Mapping[str, memoryview]
) -> list[str]:
    """Gives each callback its attributes back.

    Returns:
        A sentence for each callback that no longer matches, and is left alone, and for each
        attribute that is not what it was.
    """
    problems = []
    for saved, callback in callback_match.matched(described, callbacks):
        if callback is None:
            problems.append(f"{saved['class']} is missing")
            continue
        for key, value in saved["attributes"].items():
            refused = _restore_checked(callback, key, value, arrays)
            if refused:
                problems.append(f"{saved['class']}.{key} {refused}")
    return problems


def new_kinds(callbacks: list[Any], described: list[dict[str, Any]]) -> list[str]:
    """A sentence for each kind of callback that was not there."""
    known = {each["class"] for each in described}
    kinds = {type(each).__name__ for each in callbacks} - known
    return [f"{kind} is new" for kind in sorted(kinds)]


def _restore_checked(
    callback: Any, key: str, encoded: Any, arrays: Mapping[str, memoryview]
) -> str:
    """Gives a callback one attribute back; why not, empty when it has it."""
    present = vars(callback).get(key)
    if key in _NOT_STATE or _is_method(callback, key):
        return "is no attribute that is saved"
    if isinstance(encoded, dict) and _FUNCTION_MARK in encoded:
        function = named_function(str(encoded[_FUNCTION_MARK]))
        if function is None:
            return "names a function that is not the script's"
        vars(callback)[key] = function
        return ""
    value = decode(encoded, arrays)
    if is_moved(present, value):
        return ""  # see moved_files
    if isinstance(present, str) and _is_of_keras(callback):
        # What the script has asked for, such as a path.
        return "" if present == value else _moved_file(callback, present, value)
    if foreign := foreign_path(value, callback):
        return f"names {foreign}, which is in no folder of the script"
    _restore_attribute(callback, key, value)
    return ""


def _moved_file(callback: Any, path: str, before: Any) -> str:
    """What is to be said of a file that a callback has written to another place than now."""
    if not isinstance(callback, keras.callbacks.ModelCheckpoint) or not isinstance(before, str):
        return ""
    is_there = Path(before).exists() and not Path(path).exists()
    return f"is {path} and was {before}, where the file of before still is" if is_there else ""


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
