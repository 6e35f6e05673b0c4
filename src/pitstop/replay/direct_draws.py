"""Random ops of what the script calls that are counted, and so go on where they were saved."""

import weakref
from collections.abc import Sequence
from typing import Any

from pitstop.replay.calls import Call, FunctionCall
from pitstop.tensorflow import counted_draws, private
from pitstop.tensorflow.counted_draws import Draws

_OTHERS = "the script calls other functions than before, so draws of random ops are not restored"


class DirectDraws:
    """The functions with counted draws, in the order of their first calls, which is repeated."""

    def __init__(self) -> None:
        self._functions: list[weakref.ref[Any]] = []

    def begins(self, call: Call) -> None:
        if type(call) is FunctionCall and not private.tape_is_open():
            counted_draws.count(call.owner)

    def returned(self, call: Call) -> str:
        """A doubt of what it draws, or empty."""
        known, doubt = {each() for each in self._functions}, ""
        for function in call.functions():
            counted = counted_draws.of(function)
            if counted is not None:
                doubt = doubt or counted.doubt
                if function not in known:
                    self._functions.append(weakref.ref(function))
        return doubt

    def capture(self) -> list[Draws]:
        # One that no longer exists keeps its place.
        living = ((each(), counted_draws.of(each())) for each in self._functions)
        return [
            counted.capture(private.graphs(each)) if counted else {} for each, counted in living
        ]

    def restore(self, saved: Sequence[Draws]) -> str:
        """A doubt, or empty."""
        for function, draws in zip(self._functions, saved, strict=False):
            if (counted := counted_draws.of(function())) is not None:
                counted.restore(draws)
        return _OTHERS if len(saved) != len(self._functions) else ""


def _draws_of(function: Any) -> Draws:
    counted = counted_draws.of(function)  # One that no longer exists keeps its place.
    return {} if counted is None else counted.capture(private.graphs(function))
