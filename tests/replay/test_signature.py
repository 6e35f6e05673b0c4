"""Calls in words, and a checksum that sees other input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.distribute.values import PerReplica

from pitstop.replay.calls import checksum, in_words


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((), {}, "step()"),
        ((tf.ones((2, 3)), np.zeros(4, "int8")), {}, "step(float32[2, 3], int8[4])"),
        ((3, "text", None), {}, "step(int, str, NoneType)"),
        (([tf.constant(1)],), {"mask": {"a": np.float64(1)}}, "step([int32[]], mask={a: float64})"),
    ],
)
def test_words(args: Any, kwargs: Any, words: str) -> None:
    assert in_words("step", args, kwargs) == words
    assert in_words("step", args, kwargs) == words


def test_names_of_keywords_count() -> None:
    one, other = ({name: tf.ones(2)} for name in ("x", "y"))
    assert in_words("step", (), one) != in_words("step", (), other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (tf.constant([1.0, 2.0]), tf.constant([1.0, 3.0])),
        (np.array([1, 2]), np.array([2, 2])),
        ([np.ones(2)], [np.zeros(2)]),
        ({"x": tf.zeros(())}, {"x": tf.ones(())}),
        (0.1, 0.2),
        ("text", "other"),
        (tf.constant(["a"]), tf.constant(["b"])),
        (tf.ragged.constant([[1]]), tf.ragged.constant([[2]])),
        (PerReplica([tf.zeros(2), tf.zeros(2)]), PerReplica([tf.zeros(2), tf.ones(2)])),
        (np.pad(np.zeros(6), 999), np.pad(np.ones(6), 999)),
    ],
)
def test_other_values_have_another_checksum(one: Any, other: Any) -> None:
    assert checksum((one,), {}, 0) == checksum((one,), {}, 0)
    assert checksum((one,), {}, 0) != checksum((other,), {}, 0)


def test_later_calls_are_looked_at_in_places_all_over() -> None:
    zeros = np.zeros((1000, 100), "float32")
    one = zeros.copy()
    one[500] = 1
    assert checksum((zeros,), {}, 99) != checksum((one,), {}, 99)
    assert checksum((zeros[:, ::2],), {}, 99) != checksum((one[:, ::2],), {}, 99)


def test_objects_are_not_known_by_their_addresses() -> None:
    one, other = ((object(), np.array([object()])) for _ in range(2))
    assert checksum(one, {}, 0) == checksum(other, {}, 0)
