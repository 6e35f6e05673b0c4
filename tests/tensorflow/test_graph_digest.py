"""What functions were traced with, for each signature."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from pitstop.tensorflow.graph_digest import kinds_of, look
from pitstop.tensorflow.traced_ops import OpKind


class Options:
    def __init__(self, scale: float) -> None:
        self.scale = scale


def traced(*scales: float) -> dict[str, str]:
    @tf.function
    def scaled(options: Any, value: Any) -> Any:
        return options.scale * value

    given = [Options(scale) for scale in scales]
    for each in given:
        scaled(each, tf.constant(1.0))
    return look(scaled)[0]


def test_an_object_as_an_argument_is_the_same_one_in_another_process() -> None:
    assert traced(1.0) == traced(1.0)
    assert traced(1.0).keys() == traced(2.0).keys()
    assert traced(1.0) != traced(2.0)


def test_several_objects_are_told_apart_by_their_order() -> None:
    first, second = traced(1.0), traced(1.0, 2.0)
    assert len(second) == 2
    assert first.items() < second.items()
    assert second == traced(1.0, 2.0)


def marked(value: Any) -> Any:
    with tf.xla.experimental.jit_scope():
        return value + 1.0


def marked_by_type(value: Any) -> Any:
    with tf.xla.experimental.jit_scope(compile_ops=lambda node: node.op == "AddV2"):
        return value + 1.0


def left_out(value: Any) -> Any:
    with tf.xla.experimental.jit_scope(compile_ops=False):
        return value + 1.0


def plain(value: Any) -> Any:
    return value + 1.0


@pytest.mark.parametrize(
    ("python", "is_compiled", "found"),
    [
        (marked, False, {OpKind.MARKED}),
        (marked_by_type, False, {OpKind.MARKED}),
        (left_out, False, set()),
        (plain, False, set()),
        (plain, True, {OpKind.COMPILED}),
    ],
)
def test_what_xla_compiles_is_found(python: Any, is_compiled: bool, found: set[OpKind]) -> None:
    inner = tf.function(python, jit_compile=is_compiled or None)
    outer = tf.function(lambda value: inner(value) * 2.0)
    value = tf.constant(1.0)
    for function in (inner, outer, inner.get_concrete_function(value)):
        function(value)
        assert kinds_of(function).keys() == found
