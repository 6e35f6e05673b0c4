"""Random ops in functions that the script calls between the steps of its loop."""

import weakref
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from pitstop.engine.fence import fenced, observing
from pitstop.engine.hooking import Original
from pitstop.tensorflow import (
    counted_draws,
    devices,
    earlier_traces,
    graph_digest,
    private,
    randomness,
)
from pitstop.tensorflow.function_draws import FunctionDraws
from pitstop.tensorflow.traced_ops import OpKind

_HIDDEN = (
    "{} draws from a hidden random stream ({}); use tf.random.Generator, keras.random with a "
    f"SeedGenerator, or a Keras layer (with Keras 2, {randomness.WITH_KERAS_2})"
)
_SAME_NAME = (
    "two functions with the name {} draw random numbers, which a resume may take for each other"
)


class LoopDraws(FunctionDraws):
    """Those that can be counted, and a doubt of each other one."""

    def __init__(self, doubt: Callable[[str], None]) -> None:
        super().__init__()
        self._doubt = doubt
        self._inputs: dict[str, list[str]] = {}  # of functions that are not called yet
        self._looked_at: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def watch(self) -> None:
        counted_draws.watch()
        private.around_function_calls(self._lead)

    def _lead(self, original: Original, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not tf.executing_eagerly():
            return original(function, *args, **kwargs)
        with fenced(spoils=True):
            self.begins(function)
            if self._inputs:
                inputs = self._inputs.pop(self._names.get(function, ""), [])
                earlier_traces.expect(function, inputs)
        result = original(function, *args, **kwargs)
        self._look(function)
        return result

    def inputs(self) -> dict[str, list[str]]:
        """Those that functions were traced for; not of several with one name."""
        known = {name: each for each, name in self._names.items() if self._counts[name] == 1}
        found = {name: earlier_traces.inputs_of(each) for name, each in known.items()}
        return self._inputs | {name: inputs for name, inputs in found.items() if inputs}

    def expect(self, inputs: Mapping[str, list[str]]) -> None:
        """Lets functions that are called later be traced for what they were traced for before."""
        self._inputs = dict(inputs)

    @observing(spoils=True)
    def _look(self, function: Any) -> None:
        self._doubt(self.returned(function))
        traces = private.traces(function)
        if self._looked_at.get(function) == traces:
            return
        self._looked_at[function] = traces
        name = private.function_name(function)
        kinds = graph_digest.kinds_of(function)
        self._doubt(devices.doubt_of(kinds).format(name))
        if OpKind.RANDOM in kinds:
            self._doubt(_HIDDEN.format(name, kinds[OpKind.RANDOM]))
        if len([each for each in self.capture() if each.partition("#")[0] == name]) > 1:
            self._doubt(_SAME_NAME.format(name))
