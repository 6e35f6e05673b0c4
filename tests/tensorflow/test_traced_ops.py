"""Which ops draw from a stream that nobody can read: asked of functions that use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from pitstop.tensorflow import traced_ops

_IMAGE = tf.ones([1, 8, 8, 1])
_BOX = [[[0.0, 0.0, 1.0, 1.0]]]
_TRUE = [[1]]


def found(draw: Callable[[], Any]) -> set[str]:
    """Types of the ops in a function that draw from a hidden stream."""
    operations = tf.function(draw, autograph=False).get_concrete_function().graph.get_operations()
    return {
        each.type for each in operations if traced_ops.draws_hidden(each.type, each.node_def.attr)
    }


@pytest.mark.parametrize(
    ("draw", "op"),
    [
        (lambda: tf.nn.dropout(_IMAGE, 0.5), "RandomUniform"),
        (lambda: tf.random.gamma([2], 1.0), "RandomGamma"),
        (lambda: tf.random.shuffle([1, 2]), "RandomShuffle"),
        (lambda: tf.random.categorical([[0.5, 0.5]], 2), "Multinomial"),
        (
            lambda: tf.random.log_uniform_candidate_sampler(_TRUE, 1, 2, True, 9),
            "LogUniformCandidateSampler",
        ),
        (
            lambda: tf.random.fixed_unigram_candidate_sampler(
                _TRUE, 1, 2, True, 3, unigrams=[1, 1, 1]
            ),
            "FixedUnigramCandidateSampler",
        ),
        (
            lambda: tf.image.sample_distorted_bounding_box([8, 8, 3], _BOX),
            "SampleDistortedBoundingBoxV2",
        ),
        (lambda: tf.nn.fractional_max_pool(_IMAGE, 1.5), "FractionalMaxPool"),
    ],
)
def test_an_op_with_a_hidden_stream_is_found(draw: Callable[[], Any], op: str) -> None:
    assert found(draw) == {op}


@pytest.mark.parametrize(
    "draw",
    [
        lambda: tf.random.stateless_normal([2], seed=[1, 2]),
        lambda: tf.image.stateless_sample_distorted_bounding_box([8, 8, 3], _BOX, seed=[1, 2]),
        lambda: tf.nn.fractional_max_pool(_IMAGE, 1.5, seed=3),
        lambda: tf.random.all_candidate_sampler(_TRUE, 1, 2, True),
        lambda: (tf.print("a line"), None)[1],
        lambda: tf.numpy_function(lambda: 1.0, [], tf.float64),
    ],
)
def test_other_ops_are_not(draw: Callable[[], Any]) -> None:
    assert found(draw) == set()


def test_an_unknown_op_is_not() -> None:
    assert not traced_ops.draws_hidden("OfAnotherLibrary", {})
