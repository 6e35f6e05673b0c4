"""What is asked of an input whose elements nobody sees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pitstop.tensorflow.pipelines import drawn_inputs

ROWS = tf.data.Dataset.from_tensor_slices(np.arange(12.0))


def noise(x: Any) -> Any:
    return x + tf.random.uniform((), dtype=tf.float64)


@pytest.mark.parametrize(
    ("dataset", "problem"),
    [
        (ROWS.shuffle(4).map(lambda x: x + 1).batch(2).repeat().prefetch(2), ""),
        (ROWS.map(noise), "its map keeps state or draws random numbers"),
        (
            tf.data.Dataset.from_generator(lambda: [1.0], output_types=tf.float32),
            "keeps state or draws random numbers",
        ),
        (
            ROWS.map(lambda x: x, num_parallel_calls=2, deterministic=False),
            "a parallel stage may reorder it",
        ),
        (ROWS.cache("file"), "its pipeline is not known"),
        (tf.data.Dataset.random(3), "its pipeline is not known"),
    ],
)
def test_a_pipeline_that_may_give_something_else(dataset: Any, problem: str) -> None:
    doubt = drawn_inputs.doubt_of(iter(dataset), "step")
    assert problem in doubt
    assert bool(doubt) is bool(problem)


def test_the_contents_of_an_iterator() -> None:
    same, other = (drawn_inputs.contents_of(iter(ROWS.batch(each))) for each in (2, 3))
    assert same != other
    assert same == drawn_inputs.contents_of(iter(ROWS.batch(2)))
    assert same != drawn_inputs.contents_of(iter(ROWS.map(lambda x: x + 1).batch(2)))
    changed = tf.data.Dataset.from_tensor_slices(np.arange(12.0)[::-1]).batch(2)
    assert same != drawn_inputs.contents_of(iter(changed))


def test_elements_of_a_strategy_are_skipped_for_all_its_devices() -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    for dataset in (ROWS.batch(2), ROWS.batch(2).repeat()):
        skipped, drawn = (iter(strategy.experimental_distribute_dataset(dataset)) for _ in "ab")
        drawn_inputs.skip(skipped, 2)
        next(drawn), next(drawn)
        assert np.array_equal(next(skipped), next(drawn))
