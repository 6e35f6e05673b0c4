"""Calls in words, and a checksum that sees other input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pitstop.replay.signature import Signatures, checksum


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
    signatures = Signatures()
    assert signatures.describe("step", args, kwargs) == words
    assert signatures.describe("step", args, kwargs) == words


def test_names_of_keywords_count() -> None:
    signatures = Signatures()
    one, other = ({name: tf.ones(2)} for name in ("x", "y"))
    assert signatures.describe("step", (), one) != signatures.describe("step", (), other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (tf.constant([1.0, 2.0]), tf.constant([1.0, 3.0])),
        (np.array([1, 2]), np.array([2, 2])),
        ([np.ones(2)], [np.zeros(2)]),
        ({"x": tf.zeros(())}, {"x": tf.ones(())}),
    ],
)
def test_other_values_have_another_checksum(one: Any, other: Any) -> None:
    assert checksum((one,), {}) == checksum((one,), {})
    assert checksum((one,), {}) != checksum((other,), {})


def test_objects_and_strings_have_none() -> None:
    assert checksum((object(), "text", np.array([object()]), tf.constant(["a"])), {}) == 0
    assert checksum((tf.constant("a"), tf.ragged.constant([[1]])), {}) == 0
