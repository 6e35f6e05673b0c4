"""The private names are where this version of TensorFlow has them."""

from __future__ import annotations

from typing import Any

import keras
import pytest
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import func_graph
from tensorflow.python.ops import resource_variable_ops

from pitstop.errors import UnsupportedVersion
from pitstop.tensorflow import private
from pitstop.tensorflow.traced_ops import OpKind


def test_the_installed_version_is_supported() -> None:
    private.check()


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (resource_variable_ops, "_UnreadVariable"),
        (context.Context, "clear_kernel_cache"),
    ],
)
def test_a_missing_name_is_named(owner: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(owner, name)
    with pytest.raises(UnsupportedVersion, match=name) as caught:
        private.check()
    assert tf.__version__ in caught.value.message
    assert "2.21" in caught.value.remedy


def test_a_version_that_is_too_old_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf, "__version__", "2.15.1")
    with pytest.raises(UnsupportedVersion, match=r"2\.15\.1 is too old"):
        private.check()


def test_an_iterator_goes_on_where_it_was_serialized() -> None:
    tf.random.set_seed(3)
    dataset = tf.data.Dataset.range(20).shuffle(10, seed=1).batch(3)
    iterator = iter(dataset)
    next(iterator)
    state = private.serialize_iterator(iterator)
    expected = [batch.numpy().tolist() for batch in iterator]
    other = iter(dataset)
    private.restore_iterator(other, state)
    assert [batch.numpy().tolist() for batch in other] == expected


def test_an_iterator_over_python_is_refused() -> None:
    dataset = tf.data.Dataset.from_generator(
        lambda: iter(range(5)), output_signature=tf.TensorSpec((), tf.int64)
    )
    with pytest.raises(tf.errors.FailedPreconditionError, match="PyFunc"):
        private.serialize_iterator(iter(dataset))


def test_random_ops_with_hidden_counters_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    method = "_create_op_internal"
    monkeypatch.setattr(func_graph.FuncGraph, method, getattr(func_graph.FuncGraph, method))
    found: list[str] = []
    private.on_traced_op({OpKind.RANDOM: found.append})
    tf.random.normal([2])
    tf.function(lambda: tf.random.stateless_normal([2], seed=[1, 2]))()
    shapes = keras.layers.Lambda(tf.function(lambda x: x + tf.random.normal([2])))
    shapes.compute_output_spec(keras.KerasTensor((2,)))
    assert found == []
    tf.function(lambda: tf.nn.dropout(tf.ones(3), 0.5))()
    assert found == ["RandomUniform"]
