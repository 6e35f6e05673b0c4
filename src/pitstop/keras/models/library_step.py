"""A training step without a trace, which creates what else a trace of its own would create.

TensorFlow traces a step twice if its first trace creates variables.  A resume knows that it will,
and runs the step once without a trace before: then one trace is enough.  The code of a step thus
runs as often as without an interruption.
"""

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.engine.values.reachable import cells_of
from pitstop.keras.common_private import compiled_with
from pitstop.keras.packages import KERAS_3, kinds, package_of, private_of

_LIBRARIES = frozenset({"keras", "tensorflow", "numpy", *sys.stdlib_module_names})
_OWN = "pitstop"  # which runs in the place of functions of Keras
_PLAIN = (str, bytes, int, float, complex, type(None))
_TENSORS = (tf.Variable, tf.Tensor, tf.TypeSpec, tf.DType, tf.TensorShape, np.ndarray, np.generic)
_MOST_OBJECTS = 50_000


def run_once(model: Any, batch: Callable[[], Any]) -> None:
    """Runs a training step on a batch where all its code is that of Keras, else nothing."""
    if _is_of_libraries(model):
        try:
            model.train_step(batch())
        except Exception:  # noqa: BLE001  of Keras, for a batch that no script has made
            return  # The traced step creates what is missing.


def _is_of_libraries(model: Any) -> bool:
    if package_of(model) != KERAS_3 or tf.distribute.has_strategy():
        return False
    private = private_of(model)
    if private.own_part_of_step(model) or private.is_distributed(model):
        return False
    return _leads_to_libraries([model, compiled_with(model)])


def _leads_to_libraries(waiting: list[Any]) -> bool:
    """Whether these hold no function and no object whose class is not that of a library."""
    closed, seen = (*_PLAIN, *_TENSORS, *kinds("Variable", "KerasTensor")), dict[int, Any]()
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if issubclass(kind, closed) or id(value) in seen:
            continue
        seen[id(value)] = value
        code = value if issubclass(kind, types.FunctionType | type) else kind
        library = code.__module__.partition(".")[0]
        if library == _OWN:
            continue
        if library not in _LIBRARIES or len(seen) > _MOST_OBJECTS:
            return False
        waiting += _held_by(value)
    return True


def _held_by(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return [*value]
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, types.MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, types.FunctionType):
        return [*cells_of(value).values()]
    is_code = isinstance(value, type | types.ModuleType)
    return [] if is_code else [*getattr(value, "__dict__", {}).values()]
