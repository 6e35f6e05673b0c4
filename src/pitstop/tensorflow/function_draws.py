"""Random ops of the functions that a script calls: counted, so that they go on where saved."""

import weakref
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pitstop.tensorflow import counted_draws, private
from pitstop.tensorflow.counted_draws import CountedDraws, Draws


class FunctionDraws:
    """The functions with counted draws, by name, numbered in the order of their first calls."""

    def __init__(self, *, in_order: bool = False) -> None:
        """`in_order`: a resume calls the functions in the order of the earlier attempt."""
        self._in_order = in_order
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._counts: Counter[str] = Counter()
        self._waiting: dict[str, CountedDraws] = {}  # of functions that are not called yet

    def begins(self, function: Any) -> None:
        if not private.tape_is_open():
            counted_draws.count(function)
        self._meet(function)

    def returned(self, function: Any) -> str:
        """A doubt of what it draws, or empty."""
        self._meet(function)
        counted = counted_draws.of(function)
        return counted.doubt.format(private.function_name(function)) if counted is not None else ""

    def _meet(self, function: Any) -> None:
        counted = counted_draws.of(function)
        if counted is None or function in self._names:
            return
        name = private.function_name(function)
        self._counts[name] += 1
        number = f"#{self._counts[name]}" if self._counts[name] > 1 else ""
        self._names[function] = name + number
        counted.in_order = self._in_order
        if waiting := self._waiting.pop(name + number, None):
            counted.restore(waiting.capture(()))

    def capture(self) -> dict[str, Draws]:
        known = ((name, each, counted_draws.of(each)) for each, name in self._names.items())
        found = {name: draws.capture(private.graphs(each)) for name, each, draws in known if draws}
        waiting = {name: draws.capture(()) for name, draws in self._waiting.items()}
        return waiting | {name: draws for name, draws in found.items() if draws}

    def restore(self, saved: Mapping[str, Draws]) -> None:
        known = {name: counted_draws.of(function) for function, name in self._names.items()}
        self._waiting = {name: CountedDraws() for name in saved.keys() - known.keys()}
        for name, counted in (known | self._waiting).items():
            if counted is not None:
                counted.restore(saved.get(name, {}))
