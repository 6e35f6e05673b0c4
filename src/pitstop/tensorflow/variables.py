"""Every variable of the process: held at a cut, assigned at a resume.

Variables are known by the order of their creation, which a script repeats when
it is run again; no model has to be named.  At a cut each value is held by
reference: TensorFlow copies a variable's buffer before it updates it while
somebody else holds it (`PrepareToUpdateVariable` in
tensorflow/core/kernels/training_op_helpers.h), so that a hold costs a few
microseconds and the copy happens beside the next step.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.engine.cut import HeldTensor
from pitstop.engine.saved_state import SavedState
from pitstop.errors import ResumeRefused
from pitstop.store.image import DTYPE_CODES, TensorSpec
from pitstop.tensorflow import private


@dataclass(frozen=True)
class SavedVariable:
    """A variable as a saved state describes it; `tensor` is its name in the image."""

    index: int
    path: str
    dtype: str
    shape: tuple[int, ...]
    tensor: str

    @property
    def label(self) -> str:
        """For messages: path, dtype and shape."""
        return f"{self.path} {self.dtype}{list(self.shape)}"


class VariableRegistry:
    """The variables of this process in the order of their creation."""

    def __init__(self) -> None:
        self._created: list[weakref.ref[Any]] = []
        self._awaited: dict[int, Callable[[Any], None]] = {}
        self._installed = False

    def install(self) -> None:
        """Learns of every variable created from now on."""
        if not self._installed:
            self._installed = True
            private.on_variable_created(self._add)

    @property
    def created(self) -> int:
        """How many variables there have been."""
        return len(self._created)

    def indices(self) -> dict[int, int]:
        """The number of each living variable, by its identity."""
        return {id(variable): index for index, variable in self._living()}

    def adopt(self, variables: Iterable[Any]) -> None:
        """Learns of variables that were there before; their order must not change."""
        known = {id(variable) for _, variable in self._living()}
        for variable in variables:
            if id(variable) not in known:
                known.add(id(variable))
                self._add(variable)

    def _add(self, variable: Any) -> None:
        index = len(self._created)
        self._created.append(weakref.ref(variable))
        restore = self._awaited.pop(index, None)
        if restore is not None:
            restore(variable)

    def _living(self) -> Iterator[tuple[int, Any]]:
        for index, reference in enumerate(self._created):
            variable = reference()
            if variable is not None and private.is_eager_variable(variable):
                yield index, variable

    def hold(
        self, path_of: Callable[[Any], str]
    ) -> tuple[list[HeldTensor], list[dict[str, Any]], list[str]]:
        """Holds the present value of every variable.

        Args:
            path_of: a readable name for a `tf.Variable`, or an empty string.

        Returns:
            The held values, their descriptions for `saved_variables`, and the
            names of variables that cannot be saved (resources, variants).
        """
        tensors, described, refused = [], [], []
        for index, variable in self._living():
            path = path_of(variable) or variable.name.removesuffix(":0")
            if variable.dtype in (tf.resource, tf.variant):
                refused.append(f"{path} ({variable.dtype.name})")
                continue
            name = f"variables/{index:05d}/{path}"
            value = private.hold_value(variable)
            shape = tuple(value.shape.as_list())
            tensors.append(_held(name, variable.dtype, shape, value))
            described.append(
                {
                    "index": index,
                    "path": path,
                    "dtype": variable.dtype.name,
                    "shape": list(shape),
                    "tensor": name,
                }
            )
        return tensors, described, refused

    def missing(self, saved: SavedState) -> bool:
        """Whether the state holds variables that this process has not created yet."""
        return any(item.index >= len(self._created) for item in saved_variables(saved))

    def restore(self, saved: SavedState, left_alone: Sequence[Any] = ()) -> None:
        """Assigns every saved value; variables still to come get theirs at creation.

        Args:
            saved: the saved values.
            left_alone: variables that keep the value they have.

        Raises:
            ResumeRefused: a variable has another shape or dtype than it had.
        """
        kept = {id(variable) for variable in left_alone}
        found = ((item, self._find(item)) for item in saved_variables(saved))
        pairs = [(item, variable) for item, variable in found if id(variable) not in kept]
        for item, variable in pairs:
            if variable is not None:
                check_fits(item, variable)
        for item, variable in pairs:
            if variable is not None:
                assign(variable, item, saved)
            elif item.index >= len(self._created):
                self._awaited[item.index] = _later(item, saved)

    def restore_matching(self, saved: SavedState, path_of: Callable[[Any], str]) -> list[str]:
        """Assigns what still fits, by path and shape, and names what does not."""
        living = {path_of(v) or v.name.removesuffix(":0"): v for _, v in self._living()}
        skipped = []
        for item in saved_variables(saved):
            variable = living.get(item.path)
            if variable is None or _misfit(item, variable):
                skipped.append(item.label)
            else:
                assign(variable, item, saved)
        return skipped

    def _find(self, item: SavedVariable) -> Any:
        return self._created[item.index]() if item.index < len(self._created) else None


REGISTRY = VariableRegistry()
"""The registry of this process; variables are global, so is their list."""


def saved_variables(saved: SavedState) -> list[SavedVariable]:
    """The variables that a saved state describes."""
    return [
        SavedVariable(v["index"], v["path"], v["dtype"], tuple(v["shape"]), v["tensor"])
        for v in saved.state["variables"]
    ]


def _held(name: str, dtype: tf.DType, shape: tuple[int, ...], value: Any) -> HeldTensor:
    if dtype == tf.string:
        # Its elements are not in one buffer: they are written out at once.
        data = np.frombuffer(tf.io.serialize_tensor(value).numpy(), np.uint8)
        return HeldTensor.of_array(name, data)
    return HeldTensor(_spec(name, dtype, shape), _reader(value))


def _spec(name: str, dtype: tf.DType, shape: tuple[int, ...]) -> TensorSpec:
    numpy_dtype = np.dtype(dtype.as_numpy_dtype)
    code = DTYPE_CODES.get(numpy_dtype.name)
    if code is None:
        # safetensors has no code for it: its bytes are kept as they are.
        return TensorSpec(name, "U8", (int(np.prod(shape)) * numpy_dtype.itemsize,))
    return TensorSpec(name, code, shape)


def _reader(value: Any) -> Callable[[], memoryview]:
    def read() -> memoryview:
        array = np.ascontiguousarray(private.as_numpy(value))
        return array.reshape(-1).view(np.uint8).data

    return read


def _misfit(item: SavedVariable, variable: Any) -> bool:
    shape = tuple(variable.shape.as_list())
    known = all(size is not None for size in shape)
    return item.dtype != variable.dtype.name or (known and shape != item.shape)


def check_fits(item: SavedVariable, variable: Any) -> None:
    """Makes sure that a variable can take a saved value.

    Raises:
        ResumeRefused: it has another shape or dtype than it had.
    """
    if _misfit(item, variable):
        now = f"{variable.name} {variable.dtype.name}{variable.shape.as_list()}"
        raise ResumeRefused(
            f"The model changed: variable {item.index} was {item.label} and is now {now}.",
            "Undo the change, start over with --new, or restore what fits with --force.",
        )


def assign(variable: Any, item: SavedVariable, saved: SavedState) -> None:
    """Gives a variable its saved value."""
    data = saved.tensors[item.tensor]
    # A variable may be created while a function is traced: the value is given
    # now, not each time that function runs.  TensorFlow leaves it then, see
    # `_initialize_uninitialized_variables` of its polymorphic_function.py.
    with tf.init_scope():
        if variable.dtype == tf.string:
            variable.assign(tf.io.parse_tensor(bytes(data), tf.string))
        else:
            dtype = np.dtype(variable.dtype.as_numpy_dtype)
            variable.assign(np.frombuffer(data, dtype).reshape(item.shape))


def _later(item: SavedVariable, saved: SavedState) -> Callable[[Any], None]:
    def restore(variable: Any) -> None:
        check_fits(item, variable)
        assign(variable, item, saved)

    return restore
