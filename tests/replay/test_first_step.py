"""A training is known again by what its first step leaves behind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pitstop.replay.loop_identity import FirstStep, Likeness, compare, look


def _look(weights: np.ndarray[tuple[int, ...], np.dtype[np.float32]], rate: float) -> FirstStep:
    return look([tf.Variable(weights), tf.Variable(rate), tf.Variable(1, dtype=tf.int64)])


_WEIGHTS = np.linspace(-1, 1, 3000, dtype="float32").reshape(30, 100)


@pytest.mark.parametrize(
    ("weights", "rate", "likeness"),
    [
        (_WEIGHTS, 0.1, Likeness.SAME),
        (_WEIGHTS * np.float32(1 + 1e-6), 0.1, Likeness.CLOSE),
        (_WEIGHTS * np.float32(1.1), 0.1, Likeness.OTHER),
        (_WEIGHTS, 0.2, Likeness.OTHER),
        (_WEIGHTS[:20], 0.1, Likeness.OTHER),
        (np.full_like(_WEIGHTS, np.nan), 0.1, Likeness.OTHER),
    ],
)
def test_likeness(weights: np.ndarray[Any, Any], rate: float, likeness: Likeness) -> None:
    assert compare(_look(_WEIGHTS, 0.1), _look(weights, rate)) is likeness


def test_weights_that_are_no_numbers_are_those_they_were() -> None:
    nan = np.full_like(_WEIGHTS, np.nan)
    assert compare(_look(nan, 0.1), _look(nan, 0.1)) is Likeness.SAME


def test_words_are_left_out() -> None:
    assert compare(look([]), look([tf.Variable("words")])) is Likeness.SAME
