"""What functions were traced with, compared with those that a resume traces again.

They are those of a model, and those of the script that the training leads to.

A function keeps the Python values that it reads as they were when it was traced. A script may
change them later, without an effect; a function that is traced then has the later ones.
"""

import weakref
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from pitstop.engine.reachable import find_used
from pitstop.keras.packages import SOURCES
from pitstop.tensorflow import private
from pitstop.tensorflow.graph_digest import look
from pitstop.tensorflow.randomness import is_part_of_an_input

_NAMES = ("train_function", "test_function", "predict_function")
_OTHER = (
    "{} was traced again with other Python values: the script has changed a value "
    "that it read as a constant; keep it in a tf.Variable"
)

_KNOWN: weakref.WeakKeyDictionary[Any, dict[str, str]] = weakref.WeakKeyDictionary()
"""By signature, the digests of the functions of this process, and of those they stand for."""
_SEEN: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
"""How many traces of a function had been compared."""


class ModelFunctions:
    """Follows the functions of one model, and those of the script around it."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._looked_at = -1
        self._of_script: list[Any] = []
        self._saved: Mapping[str, Mapping[str, str]] = {}
        self.draws = ""  # which function draws from a hidden stream; empty where none does

    def begin(self, roots: list[Any]) -> None:
        """`roots`: what the training calls."""
        found = find_used([*roots, self._model], private.FUNCTIONS, is_part_of_an_input)
        self._of_script = [each for each in found if not _is_of_keras(each)]

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
            # One of the model that is made anew may have other values, as without an interruption.
            of_model = _of_model(name)
            saved = {} if of_model else self._saved.get(name, {})
            known = _KNOWN.setdefault(function, dict(saved))
            digests, drawn = look(function)
            if drawn and of_model != _NAMES[0]:
                self.draws = f"{of_model or name} draws from a hidden random stream ({drawn})"
            for signature, digest in digests.items():
                if known.setdefault(signature, digest) != digest:
                    other = _OTHER.format(f"{of_model} of the model" if of_model else name)
        return other

    def capture(self) -> dict[str, Mapping[str, str]]:
        known = ((name, dict(_KNOWN.get(each, {}))) for name, each in self._functions())
        # A method of the script that this attempt has not called yet keeps what was saved.
        waiting = {name: saved for name, saved in self._saved.items() if not _of_model(name)}
        return waiting | {name: found for name, found in known if found or name in _NAMES}

    def restore(self, saved: Mapping[str, Mapping[str, str]]) -> None:
        self._saved = saved
        for name in {_of_model(each) for each in saved if saved[each]} - {""}:
            # One that is made now is kept, unless the script compiles the model again.
            getattr(self._model, f"make_{name}")()
        for name, function in self._functions():
            _KNOWN[function] = dict(saved.get(name, {}))
            _SEEN.pop(function, None)
        self._looked_at = -1

    def _functions(self) -> Iterator[tuple[str, Any]]:
        for name in _NAMES:
            behind = private.functions_behind(getattr(self._model, name, None))
            for number, function in enumerate(behind):
                yield f"{name}/{number}" if number else name, function
        yield from self._named()

    def _named(self) -> Iterator[tuple[str, Any]]:
        counts: Counter[str] = Counter()
        for function in self._of_script:
            for each in private.with_bound(function):
                name = private.function_name(each)
                counts[name] += 1
                yield f"{name}#{counts[name]}" if counts[name] > 1 else name, each


def _is_of_keras(function: Any) -> bool:
    python_function = getattr(function, "python_function", None)
    return str(getattr(python_function, "__module__", "")).startswith(SOURCES)


def _of_model(name: str) -> str:
    """Which function of the model it is, or lies in; empty for one of the script."""
    first = name.partition("/")[0]
    return first if first in _NAMES else ""
