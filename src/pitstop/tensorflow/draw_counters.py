"""The counters of random ops, as variables of the runtime, which no object of Python tracks."""

from typing import Any

import tensorflow as tf
from tensorflow.python.ops import gen_resource_variable_ops, resource_variable_ops

NEEDED: tuple[tuple[Any, str], ...] = (
    (resource_variable_ops, "_variable_handle_from_shape_and_dtype"),
)
"""The private names that are used here, see `private.check`."""


def make(value: list[int]) -> Any:
    with tf.init_scope(), tf.device("CPU:0"):
        handle = resource_variable_ops._variable_handle_from_shape_and_dtype(
            [len(value)], tf.int64, None, "draws", graph_mode=False
        )
    assign(handle, value)
    return handle


def assign(handle: Any, value: list[int]) -> None:
    with tf.init_scope():
        gen_resource_variable_ops.assign_variable_op(handle, tf.constant(value, tf.int64))


def read(handle: Any) -> list[int]:
    with tf.init_scope():
        value = gen_resource_variable_ops.read_variable_op(handle, tf.int64)
    return [int(each) for each in value.numpy()]


def at_start(draws: list[int]) -> list[int]:
    seed, _, seed2 = draws
    return [seed, 0, seed2]
