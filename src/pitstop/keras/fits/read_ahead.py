"""What Python code has read ahead when its training ends, and later ones go on with."""

import itertools
import types
import weakref
from typing import Any

import tensorflow as tf

from pitstop.engine.randomness.script_random import KINDS, same
from pitstop.engine.values.reachable import find_used
from pitstop.keras.inputs.input_level import PYTHON_OPS
from pitstop.keras.packages import kinds
from pitstop.tensorflow import randomness
from pitstop.tensorflow.pipelines.stage_functions import stateful_stages
from pitstop.tensorflow.randomness import is_part_of_an_input

_ITERATORS: tuple[type, ...] = (itertools.count, itertools.cycle, type(iter([])))
_READ_BEFORE = (
    "an earlier fit has read the Python generator further than it used: not repeatable even "
    "without an interruption; give each fit a generator of its own"
)
_SHARED = (
    "the Python code of an earlier fit's input has read further than the fit used, and this "
    "training uses the same {}: not repeatable even without an interruption; set a seed before "
    "each fit, or give each input its own"
)


class ReadAhead:
    """Remembers, for the later trainings of a process, what an input has read ahead."""

    def __init__(self) -> None:
        self._generators: weakref.WeakSet[Any] = weakref.WeakSet()
        self._drawn_from: list[Any] = []  # random generators and iterators
        self._streams: dict[str, Any] = {}  # global ones that have moved, as they were left

    def note(self, data: Any, created: dict[str, Any], *, is_partly_read: bool) -> None:
        """After a `fit`; `created`: the random streams when it created its iterator."""
        if isinstance(data, types.GeneratorType):
            self._generators.add(data)
        if is_partly_read and created and _is_code(data):
            self._drawn_from += _drawn_from(data)
            now = randomness.capture()
            moved = (each for each in ("python", "numpy") if not same(created[each], now[each]))
            self._streams |= {name: now[name] for name in moved}

    def doubt(self, data: Any, *, reseeded: bool) -> str:
        """Why it is not known where the data of a `fit` begins; empty where it is."""
        if isinstance(data, types.GeneratorType) and data in self._generators:
            return _READ_BEFORE
        if reseeded:
            self._streams = {}
        is_code = _is_code(data) or isinstance(data, kinds("utils.PyDataset"))
        # Most scripts leave nothing: then nothing is looked at.
        now = randomness.capture() if self._streams else {}
        left = self._streams.items()
        shared = [f"stream of {name}" for name, was in left if is_code or not same(was, now[name])]
        drawn = _drawn_from(data) if is_code and self._drawn_from else []
        shared += [
            type(each).__name__
            for each in drawn
            if any(each is other for other in self._drawn_from)
        ]
        return _SHARED.format(", ".join(shared)) if shared else ""


def _is_code(data: Any) -> bool:
    if isinstance(data, tf.data.Dataset):
        return any(each.ops & PYTHON_OPS for each in stateful_stages(data))
    return isinstance(data, types.GeneratorType)


def _drawn_from(data: Any) -> list[Any]:
    return find_used(data, (*KINDS, *_ITERATORS), is_part_of_an_input, in_collections=True)


READ_AHEAD = ReadAhead()
