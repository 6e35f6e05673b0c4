"""How often a script has read its shuffles."""

from __future__ import annotations

import tensorflow as tf

from pitstop.tensorflow.shuffle_readings import ShuffleReadings

READINGS = ShuffleReadings()
READINGS.watch()


def test_each_reading_of_a_shuffle_that_exists_is_counted() -> None:
    numbers = tf.data.Dataset.range(8)
    shuffled = numbers.shuffle(8, seed=1)
    batches = shuffled.batch(2)
    before = READINGS.so_far()
    list(numbers)
    assert READINGS.so_far() == before
    list(shuffled)
    batches.reduce(0, lambda count, _: count + 1)
    with READINGS.uncounted():
        list(batches)
    assert READINGS.so_far() == "[2]"
    other = numbers.shuffle(8)
    list(other)
    assert READINGS.so_far() == "[1, 2]"
    del other
    assert READINGS.so_far() == "[2]"


def test_a_shuffle_with_one_order_is_not_counted() -> None:
    before = READINGS.so_far()
    fixed = tf.data.Dataset.range(8).shuffle(8, seed=1, reshuffle_each_iteration=False)
    list(fixed)
    assert READINGS.so_far() == before
