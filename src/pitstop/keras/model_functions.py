"""What the functions of a model were traced with, compared with those that a resume traces again.

A function keeps the Python values that it reads as they were when it was traced. A script may
change them later, without an effect; a function that is traced then has the later ones.
"""

import types
import weakref
from collections.abc import Mapping
from typing import Any

from pitstop.engine.reachable import cells_of
from pitstop.tensorflow import private
from pitstop.tensorflow.graph_digest import digests

_NAMES = ("train_function", "test_function", "predict_function")
_OTHER = (
    "{} of the model was traced again with other Python values: the script has changed a value "
    "that it read as a constant; keep it in a tf.Variable"
)

_KNOWN: weakref.WeakKeyDictionary[Any, dict[str, str]] = weakref.WeakKeyDictionary()
"""By signature, the digests of the functions of this process, and of those they stand for."""
_SEEN: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
"""How many traces of a function had been compared."""


class ModelFunctions:
    """Follows the functions of one model."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._looked_at = -1

    def look(self) -> str:
        """Why a function is not the one that was saved; empty where nothing says so."""
        if self._looked_at == private.TracedOps.count:
            return ""
        self._looked_at, other = private.TracedOps.count, ""
        for name, function in self._functions():
            traces = private.traces(function)
            if _SEEN.get(function) == traces:
                continue
            _SEEN[function] = traces
            known = _KNOWN.setdefault(function, {})
            for signature, digest in digests(function).items():
                if known.setdefault(signature, digest) != digest:
                    other = _OTHER.format(name)
        return other

    def capture(self) -> dict[str, dict[str, str]]:
        return {name: dict(_KNOWN.get(each, {})) for name, each in self._functions()}

    def restore(self, saved: Mapping[str, Mapping[str, str]]) -> None:
        for name in _NAMES:
            if saved.get(name):
                # One that is made now is kept, unless the script compiles the model again.
                getattr(self._model, f"make_{name}")()
        for name, function in self._functions():
            _KNOWN[function] = dict(saved.get(name, {}))
            _SEEN.pop(function, None)
        self._looked_at = -1

    def _functions(self) -> list[tuple[str, Any]]:
        found = [(name, _traced_in(getattr(self._model, name, None))) for name in _NAMES]
        return [(name, each) for name, each in found if each is not None]


def _traced_in(function: Any) -> Any:
    """The `tf.function` that a function of Keras calls; None where it runs eagerly."""
    is_python = isinstance(function, types.FunctionType)
    found = [function, *(cells_of(function).values() if is_python else ())]
    return next((each for each in found if private.is_function(each)), None)
