"""What is said of tensors with values that are no finite numbers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from pitstop.tensorflow.finiteness import look, parts_of

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("value", "words", "range_words"),
    [
        (np.array([[1.0, 2.0], [3.0, 4.0]]), "", "x ranges from 1 to 4"),
        (
            np.array([[1.0, NAN], [INF, NAN]]),
            "2 NaN and 1 infinite of 4 values, the first at [0, 1]",
            "x ranges from 1 to 1",
        ),
        (tf.constant(INF), "1 infinite of 1 values", ""),
        (tf.constant([3, 1], tf.int64), "", "x ranges from 1 to 3"),
        (
            np.array([1.0, NAN], ml_dtypes.bfloat16),
            "1 NaN of 2 values, the first at [1]",
            "x ranges from 1 to 1",
        ),
        (
            tf.IndexedSlices(tf.constant([[NAN]]), tf.constant([7])),
            "1 NaN of 1 values, the first at [0, 0]",
            "",
        ),
        (np.zeros((0,)), "", ""),
    ],
)
def test_words(value: object, words: str, range_words: str) -> None:
    found = look("x", value)
    assert found is not None
    assert (found.bad_words, found.range_words) == (words, range_words)


@pytest.mark.parametrize("value", [tf.constant("text"), np.array([True]), np.array([None])])
def test_what_is_no_number_is_not_looked_at(value: object) -> None:
    assert look("x", value) is None


def test_a_tensor_without_values_yet_is_not_looked_at() -> None:
    seen: list[object] = []

    @tf.function
    def trace(x: tf.Tensor) -> tf.Tensor:
        seen.append(look("x", x))
        return x

    trace(tf.constant(NAN))
    assert seen == [None]


def test_parts_of_a_nested_structure() -> None:
    nested = {"image": 1, "rest": (2, None, [3])}
    assert list(parts_of(nested)) == [("['image']", 1), ("['rest'][0]", 2), ("['rest'][2][0]", 3)]
