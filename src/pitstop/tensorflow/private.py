"""Private names of TensorFlow, each behind one function.

`check` fails with the name of what is missing, so that an unknown version
turns the instrumentation off with a clear word instead of half working.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.data.ops import iterator_ops
from tensorflow.python.eager import context
from tensorflow.python.framework import config, func_graph, ops
from tensorflow.python.ops import gen_resource_variable_ops, resource_variable_ops

from pitstop.errors import UnsupportedVersion

_NEEDED: tuple[tuple[Any, str], ...] = (
    (resource_variable_ops, "BaseResourceVariable"),
    (resource_variable_ops, "_UnreadVariable"),
    (gen_resource_variable_ops, "read_variable_op"),
    (iterator_ops.OwnedIterator, "_serialize_to_tensors"),
    (iterator_ops.OwnedIterator, "_restore_from_tensors"),
    (context.Context, "clear_kernel_cache"),
    (func_graph.FuncGraph, "_create_op_internal"),
    (context, "global_seed"),
    (config, "is_op_determinism_enabled"),
    (ops.EagerTensor, "_numpy"),
)


def check() -> None:
    """Makes sure that every private name used here exists.

    Raises:
        UnsupportedVersion: names the first one that does not.
    """
    for owner, name in _NEEDED:
        if not hasattr(owner, name):
            where = getattr(owner, "__name__", str(owner))
            raise UnsupportedVersion(
                f"TensorFlow {tf.__version__} has no {where}.{name}, which exact resume needs.",
                "Use TensorFlow 2.21, or run on without snapshots.",
            )


def on_variable_created(notify: Callable[[Any], None]) -> None:
    """Calls `notify` with every resource variable once it is initialised.

    Reads of a variable are `_UnreadVariable`s of the same base; they hold no
    value of their own and are left out.
    """
    base = resource_variable_ops.BaseResourceVariable
    unread = resource_variable_ops._UnreadVariable
    original = base.__init__

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if not isinstance(self, unread):
            notify(self)

    base.__init__ = __init__


HIDDEN_RANDOM_OPS = frozenset(
    {
        "Multinomial",
        "ParameterizedTruncatedNormal",
        "RandomGamma",
        "RandomPoisson",
        "RandomPoissonV2",
        "RandomShuffle",
        "RandomStandardNormal",
        "RandomUniform",
        "RandomUniformInt",
        "TruncatedNormal",
    }
)
"""Ops that draw from a counter inside their kernel, which nobody can read or set."""


def on_hidden_random_op(notify: Callable[[str], None]) -> None:
    """Calls `notify` with the type of every such op that is traced into a function."""
    original = func_graph.FuncGraph._create_op_internal

    def _create_op_internal(self: Any, op_type: str, *args: Any, **kwargs: Any) -> Any:
        if op_type in HIDDEN_RANDOM_OPS:
            notify(op_type)
        return original(self, op_type, *args, **kwargs)

    func_graph.FuncGraph._create_op_internal = _create_op_internal


def is_eager_variable(variable: Any) -> bool:
    """Whether the variable's value is in memory, not in a graph."""
    return isinstance(variable.handle, ops.EagerTensor) and not variable.handle.is_packed


def hold_value(variable: Any) -> Any:
    """The variable's present value as a tensor that shares its buffer (on CPU)."""
    return gen_resource_variable_ops.read_variable_op(variable.handle, variable.dtype)


def as_numpy(tensor: Any) -> Any:
    """A NumPy view of an eager tensor's buffer; a copy where it is on a device."""
    return tensor._numpy()


def is_serializable(iterator: Any) -> bool:
    """Whether this is an iterator of one device; distributed ones have no state to give."""
    return isinstance(iterator, iterator_ops.OwnedIterator)


def serialize_iterator(iterator: Any) -> bytes:
    """The state of a `tf.data` iterator.

    Raises:
        tf.errors.FailedPreconditionError: the pipeline holds state that cannot
            be serialised; the message names the op.
        tf.errors.UnimplementedError: a dataset op does not support it.
    """
    state = iterator._serialize_to_tensors()["_STATE"]
    return bytes(tf.io.serialize_tensor(state).numpy())


def counted_seeds(state: bytes) -> int:
    """How many seed counts of shuffles an iterator's state holds.

    They are kept under keys that end in `num_random_samples`
    (tensorflow/core/kernels/data/shuffle_dataset_op.cc).
    """
    return state.count(b"num_random_samples")


def restore_iterator(iterator: Any, state: bytes) -> None:
    """Brings an iterator over the same dataset to a serialised state."""
    tensor = tf.io.parse_tensor(tf.constant(state), tf.variant)
    iterator._restore_from_tensors({"_STATE": tensor})


def eager_seed() -> tuple[int | None, Any]:
    """TensorFlow's global seed and the state of its eager seed stream; None when unset."""
    generator = getattr(context.context(), "_rng", None)
    seed = context.global_seed()
    return seed, generator.getstate() if generator is not None else None


def set_eager_seed(seed: int | None, state: Any) -> None:
    """Restores what `eager_seed` gave."""
    if seed is None or state is None:
        return
    if context.global_seed() != seed:
        tf.random.set_seed(seed)
    current = context.context()
    current._rng = random.Random()
    current._rng.setstate(state)
    # Kernels cache the seeds they were made with.
    current.clear_kernel_cache()


def deterministic_ops() -> bool:
    """Whether the user turned op determinism on."""
    return bool(config.is_op_determinism_enabled())


_STAGE_NUMBERS = ("_buffer_size", "_batch_size", "_count")


def pipeline_of(dataset: Any) -> str:
    """The stages of a `tf.data` pipeline in their order: "TensorSlice > Shuffle 100 > Batch 32".

    Empty for what is no pipeline of one device.
    """
    inputs = getattr(dataset, "_inputs", None)
    if inputs is None:
        return ""
    before = [pipeline_of(each) for each in inputs()]
    name = type(dataset).__name__.strip("_").removesuffix("Dataset")
    # How far a prefetch reads ahead is no part of an iterator's position.
    numbers = (
        [] if name == "Prefetch" else [getattr(dataset, each, None) for each in _STAGE_NUMBERS]
    )
    stage = " ".join([name, *(str(int(number)) for number in numbers if number is not None)])
    sources = f"({', '.join(before)})" if len(before) > 1 else "".join(before)
    return f"{sources} > {stage}" if sources else stage
