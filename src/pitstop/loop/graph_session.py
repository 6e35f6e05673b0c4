"""A `tf.compat.v1.Session`: the variables of its graph, by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.engine.python_state import Encoder, decode
from pitstop.engine.state_capture import HeldTensor
from pitstop.engine.weights_file import WeightsUnusable
from pitstop.errors import ResumeRefused
from pitstop.tensorflow import private
from pitstop.tensorflow.stored_values import StoredValue

_DOUBT = (
    "the graph of {name!r} draws from hidden random streams ({ops}), which cannot be restored; "
    "use tf.random.stateless_* ops with a seed from a variable or the step number"
)


class GraphSession:
    """Saves what the global variables of a session's graph hold."""

    def __init__(self, name: str, session: Any) -> None:
        self._name = name
        self._session = session
        self._operations = 0
        self._hidden: list[str] = []

    @property
    def doubt(self) -> str:
        """Why a resume cannot be exact, empty when it can."""
        count = len(self._session.graph.get_operations())
        if count != self._operations:
            self._operations = count
            initializers = [each.initializer for each in self._variables()]
            self._hidden = private.hidden_random_ops(self._session.graph, initializers)
        return _DOUBT.format(name=self._name, ops=", ".join(self._hidden)) if self._hidden else ""

    def capture(self, encoder: Encoder) -> tuple[Any, list[HeldTensor]]:
        variables = self._variables()
        values = self._session.run(variables)
        named = {
            each.name: np.asarray(value) for each, value in zip(variables, values, strict=True)
        }
        return encoder.encode(named), []

    def restore(self, saved: Any, tensors: Mapping[str, memoryview]) -> None:
        """Assigns them; adds nothing to the graph.

        Raises `ResumeRefused` where the graph has other variables than it had.
        """
        values = decode(saved, tensors)
        variables = {each.name: each for each in self._variables()}
        changed = sorted(values.keys() ^ variables.keys())
        if changed:
            raise ResumeRefused(
                f"The graph of {self._name!r} changed: {', '.join(changed)}.",
                "Undo the change, or start over in another run folder.",
            )
        self._assign(values)

    def begin_with(self, path: Path, values: Mapping[str, StoredValue]) -> int:
        """Assigns the values of a v1 Saver's files; how many.

        Raises `WeightsUnusable` where a variable has no value, or one of another shape.
        """
        found = {each.name: _value_for(each, path, values) for each in self._variables()}
        self._assign(found)
        return len(found)

    def _assign(self, values: Mapping[str, Any]) -> None:
        variables = {each.name: each for each in self._variables()}
        # An initializer is an assignment whose value can be fed.
        initializers = [each.initializer for each in variables.values()]
        feed = {
            each.initializer.inputs[1]: values[name].astype(each.dtype.base_dtype.as_numpy_dtype)
            for name, each in variables.items()
        }
        self._session.run(initializers, feed)

    def _variables(self) -> list[Any]:
        with self._session.graph.as_default():
            return list(tf.compat.v1.global_variables())


def _value_for(variable: Any, path: Path, values: Mapping[str, StoredValue]) -> Any:
    name = variable.name.removesuffix(":0")
    value = values.get(name)
    if value is None or not variable.shape.is_compatible_with(value.shape):
        found = f"{value.form} in it" if value is not None else "not in it"
        raise WeightsUnusable(
            f"{path} does not fit the graph: {name} is {variable.shape.as_list()}, but {found}.",
            "Give weights of this graph with --from, or start without --from.",
        )
    return value.read()
