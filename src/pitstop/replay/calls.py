"""The calls of a script that are recorded: of a `tf.function`, or of a method of a Keras model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pitstop.replay import values
from pitstop.replay.values import Form
from pitstop.tensorflow import drawn_inputs, private


@dataclass(frozen=True)
class Call(ABC):
    """One call that the script makes; a class for each kind of what is called.

    Attributes:
        owner: the object that is called, or whose method is.
        run: makes the call.
    """

    owner: Any
    run: Callable[[], Any]
    args: Sequence[Any]
    kwargs: Mapping[str, Any]

    @property
    @abstractmethod
    def name(self) -> str:
        """What is called, in the user's words."""

    @property
    def feeds_itself(self) -> bool:
        """Whether it takes a whole input, and draws from it in its graph."""
        return False

    def traces(self) -> int:
        """How often it has been traced, as far as it tells."""
        return 0

    def trains(self) -> bool:
        """Whether it changes what is trained, as traced so far."""
        return False

    def variables(self) -> list[Any]:
        """Those that it reads or writes, as traced so far."""
        return []

    def is_eager(self) -> bool:
        """Whether it runs Python code of the script each time."""
        return False

    def flatten(self, result: Any) -> tuple[Form, bytes]:
        """What is recorded of its result, see `values`.

        Raises:
            NotRecordable: it cannot be recorded.
        """
        return values.flatten(result)

    def build(self, form: Form, data: memoryview) -> Any:
        """The result that was recorded."""
        return values.build(form, data)

    def iterators(self) -> list[Any]:
        """Those of `tf.data` or of a strategy that it is given."""
        return drawn_inputs.iterators_in((*self.args, *self.kwargs.values()))

    def advances_input(self) -> bool:
        """Whether it may leave an input of the script in another state than it was."""
        if not self.feeds_itself:
            return False
        return not all(map(_is_plain, (*self.args, *self.kwargs.values())))


@dataclass(frozen=True)
class FunctionCall(Call):
    """Of a `tf.function`."""

    @property
    def name(self) -> str:
        return private.function_name(self.owner)

    def traces(self) -> int:
        return private.traces(self.owner)

    def trains(self) -> bool:
        return private.trains(self.owner)

    def variables(self) -> list[Any]:
        held = (each for graph in private.graphs(self.owner) for each in graph.variables)
        return list({id(variable): variable for variable in held}.values())


@dataclass(frozen=True)
class MethodCall(Call):
    """Of `train_on_batch` and its like; their traces are not known, new variables tell of one."""

    method: str

    @property
    def name(self) -> str:
        return self.method

    @property
    def feeds_itself(self) -> bool:
        return not self.method.endswith("_on_batch")

    def trains(self) -> bool:
        return self.method == "train_on_batch"

    def variables(self) -> list[Any]:
        optimizer = getattr(self.owner, "optimizer", None)
        return [
            each.value for owner in (self.owner, optimizer) if owner for each in owner.variables
        ]

    def is_eager(self) -> bool:
        return bool(self.owner.run_eagerly)


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    known = isinstance(value, np.ndarray | float | int | str | None)
    return known or private.is_eager_tensor(value)
