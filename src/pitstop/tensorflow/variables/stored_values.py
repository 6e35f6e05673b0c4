"""Values in saved files, by name, read one at a time."""

import functools
import mmap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf.trackable_object_graph_pb2 import TrackableObjectGraph

from pitstop.engine.snapshots.weights_file import WeightsUnusable
from pitstop.record import Frozen
from pitstop.store.image import DTYPE_NAMES, parse_image

_REMEDY = "Copy or export it again."
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_OPTIMIZER_VARIABLES = "_variables"
_SAVE_COUNTER = "save_counter"
_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
_LIST = "variables/"


class StoredValue(Frozen):
    """A tensor in a file: its type as TensorFlow names it, its shape, and how to read it."""

    dtype: str
    shape: tuple[int, ...]
    read: Callable[[], Any]

    @property
    def form(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


def of_safetensors(path: Path) -> dict[str, StoredValue]:
    """The tensors of a safetensors file; `WeightsUnusable` where it is damaged."""
    try:
        with path.open("rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        image = parse_image(data)
        if image.size_bytes != len(data):
            raise ValueError(f"it has {len(data)} bytes instead of {image.size_bytes}")
    except ValueError as problem:
        raise WeightsUnusable(f"{path} is damaged: {problem}.", _REMEDY) from None
    values = {}
    for place in image.placements:
        spec, part = place.spec, data[place.offset_bytes : place.end_bytes]
        dtype = tf.as_dtype(DTYPE_NAMES[spec.dtype])
        read = functools.partial(_read, part, np.dtype(dtype.as_numpy_dtype), spec.shape)
        values[spec.name] = StoredValue(dtype.name, spec.shape, read)
    return values


def _read(part: memoryview, dtype: Any, shape: tuple[int, ...]) -> Any:
    return np.frombuffer(part, dtype).reshape(shape)


def of_bundle(prefix: Path) -> dict[str, StoredValue]:
    """The tensors of TensorFlow's checkpoint files; raises `WeightsUnusable` if unreadable."""
    try:
        reader = tf.train.load_checkpoint(str(prefix))
        types = reader.get_variable_to_dtype_map()
    except (tf.errors.OpError, ValueError) as problem:
        raise WeightsUnusable(
            f"{prefix} cannot be read: {str(problem).splitlines()[0]}", _REMEDY
        ) from None
    return {
        name: StoredValue(
            types[name].name, tuple(shape), functools.partial(reader.get_tensor, name)
        )
        for name, shape in reader.get_variable_to_shape_map().items()
    }


class ObjectGraph:
    """The objects of a `tf.train.Checkpoint` by attribute; tensors have the shortest name only."""

    def __init__(self, values: Mapping[str, StoredValue]) -> None:
        self._graph = TrackableObjectGraph.FromString(values[OBJECT_GRAPH].read())

    @property
    def roots(self) -> list[str]:
        return [name for name in self._children(0) if name != _SAVE_COUNTER]

    def variables_of(self, optimizer: str) -> int:
        """How many variables an optimizer of Keras had; 0 if it was none."""
        node = self._children(0).get(optimizer)
        listed = None if node is None else self._children(node).get(_OPTIMIZER_VARIABLES)
        return 0 if listed is None else len(self._children(listed))

    def _children(self, node: int) -> dict[str, int]:
        return {each.local_name: each.node_id for each in self._graph.nodes[node].children}


def listed(values: Mapping[str, StoredValue]) -> list[StoredValue]:
    """The variables of a SavedModel that Keras exported, in the model's order; else none."""
    found = {
        int(name[len(_LIST) : -len(_VALUE)]): value
        for name, value in values.items()
        if name.startswith(_LIST) and name[len(_LIST) : -len(_VALUE)].isdecimal()
    }
    return [found[index] for index in sorted(found)]
