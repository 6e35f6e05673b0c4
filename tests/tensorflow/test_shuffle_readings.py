"""How often a script has read its shuffles."""

from __future__ import annotations

import pytest
import tensorflow as tf

from pitstop.tensorflow.shuffle_readings import ShuffleReadings


@pytest.fixture
def readings() -> ShuffleReadings:
    """Those from now on."""
    made = ShuffleReadings()
    made.watch()
    return made


def test_each_reading_of_a_shuffle_that_exists_is_counted(readings: ShuffleReadings) -> None:
    numbers = tf.data.Dataset.range(8)
    shuffled = numbers.shuffle(8, seed=1)
    batches = shuffled.batch(2)
    before = readings.so_far()
    list(numbers)
    assert readings.so_far() == before
    list(shuffled)
    batches.reduce(0, lambda count, _: count + 1)
    with readings.uncounted():
        list(batches)
    assert readings.so_far() == "[2]"
    other = numbers.shuffle(8)
    list(other)
    assert readings.so_far() == "[1, 2]"
    del other
    assert readings.so_far() == "[2]"


def test_a_shuffle_with_one_order_is_not_counted(readings: ShuffleReadings) -> None:
    before = readings.so_far()
    fixed = tf.data.Dataset.range(8).shuffle(8, seed=1, reshuffle_each_iteration=False)
    list(fixed)
    assert readings.so_far() == before
