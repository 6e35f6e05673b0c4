"""What a script calls: a `tf.function`, or a method of a Keras model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pitstop.replay import values
from pitstop.replay.values import Form
from pitstop.tensorflow import drawn_inputs, private


class Callee(Protocol):
    """What can be called."""

    @property
    def name(self) -> str:
        """In the user's words."""

    @property
    def owner(self) -> Any:
        """The object that tells two callees of one name apart."""

    @property
    def feeds_itself(self) -> bool:
        """Whether it takes a whole input, and draws from it in its graph."""

    def traces(self) -> int:
        """How often it has been traced, as far as it tells."""

    def trains(self) -> bool:
        """Whether a call, as traced so far, changes what is trained."""

    def variables(self) -> list[Any]:
        """Those that a call, as traced so far, reads or writes."""

    def is_eager(self) -> bool:
        """Whether it runs Python code of the script in each call."""


@dataclass(frozen=True)
class FunctionCallee:
    """A `tf.function`."""

    owner: Any
    feeds_itself: bool = False

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

    def is_eager(self) -> bool:
        """Its Python code runs when it is traced."""
        return False


@dataclass(frozen=True)
class MethodCallee:
    """`train_on_batch` and its like."""

    owner: Any
    name: str

    @property
    def feeds_itself(self) -> bool:
        """Whether it takes a whole input, not a batch."""
        return not self.name.endswith("_on_batch")

    def traces(self) -> int:
        """Not known; new variables tell of a first call."""
        return 0

    def trains(self) -> bool:
        return self.name == "train_on_batch"

    def variables(self) -> list[Any]:
        optimizer = getattr(self.owner, "optimizer", None)
        return [
            each.value for owner in (self.owner, optimizer) if owner for each in owner.variables
        ]

    def is_eager(self) -> bool:
        return bool(self.owner.run_eagerly)


@dataclass(frozen=True)
class ClosureCallee(FunctionCallee):
    """A `tf.function` that a coordinator has a worker run."""

    feeds_itself: bool = True

    @property
    def name(self) -> str:
        """The name of the Python function, as it is scheduled."""
        return f"schedule {super().name}"

    def variables(self) -> list[Any]:
        """None whose value is certain: workers change them at the same time."""
        return []


@dataclass(frozen=True)
class CoordinatorCallee:
    """`join` or `done` of a coordinator."""

    owner: Any
    name: str
    feeds_itself: bool = False

    def traces(self) -> int:
        """It is not traced."""
        return 0

    def trains(self) -> bool:
        """What it waits for has trained."""
        return False

    def variables(self) -> list[Any]:
        """None."""
        return []

    def is_eager(self) -> bool:
        """It runs no code of the script."""
        return False


@dataclass(frozen=True)
class Call:
    """One call that the script makes."""

    callee: Callee
    run: Callable[[], Any]
    args: Sequence[Any]
    kwargs: Mapping[str, Any]

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
        if not self.callee.feeds_itself:
            return False
        return not all(map(_is_plain, (*self.args, *self.kwargs.values())))


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    known = isinstance(value, np.ndarray | float | int | str | None)
    return known or private.is_eager_tensor(value)
