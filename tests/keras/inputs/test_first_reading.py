"""A dataset that a kernel keeps is read as if the interrupted training had not read it."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from pitstop.keras.inputs.first_reading import FirstReading
from pitstop.keras.inputs.input_state import FreshIterator
from pitstop.tensorflow import private

_ROWS = 12


def _dataset() -> tf.data.Dataset:
    return tf.data.Dataset.range(_ROWS).shuffle(4, seed=1).batch(2)


def _orders(data: tf.data.Dataset, count: int) -> list[list[int]]:
    return [[int(each) for batch in data for each in batch] for _ in range(count)]


def _begun(data: tf.data.Dataset, training: int = 0) -> list[int]:
    """The first order of a training that begins."""
    reading, iterator = FirstReading(data, training), iter(data)
    reading.begin(private.serialize_iterator(iterator))
    return [int(each) for batch in iterator for each in batch]


def _resumed(data: tf.data.Dataset, training: int = 0) -> FirstReading:
    reading = FirstReading(data, training)
    reading.resume()
    return reading


def _set_back(reading: FirstReading, data: tf.data.Dataset) -> Any:
    iterator = iter(data)
    reading.set_back(iterator, private.serialize_iterator(iterator))
    return iterator


def test_the_orders_come_again() -> None:
    expected, data = _orders(_dataset(), 3), _dataset()
    assert _begun(data) == expected[0]
    _orders(data, 2)
    reading = _resumed(data)
    assert not reading.cannot_repeat(by_replay=False)
    iterator = _set_back(reading, data)
    assert [int(each) for batch in iterator for each in batch] == expected[0]
    assert _orders(data, 2) == expected[1:]


def test_a_training_after_another_is_set_back_to_its_own_begin() -> None:
    expected, data = _orders(_dataset(), 4), _dataset()
    _begun(data, 0)
    assert _begun(data, 1) == expected[1]
    iterator = _set_back(_resumed(data, 1), data)
    assert [int(each) for batch in iterator for each in batch] == expected[1]


def test_the_first_attempt_of_a_kernel_takes_the_dataset_as_it_is() -> None:
    data = _dataset()
    reading = _resumed(data)
    assert not reading.cannot_repeat(by_replay=True)
    assert _resumed(data).cannot_repeat(by_replay=True)


@pytest.mark.parametrize(
    "data",
    [
        _dataset().cache().shuffle(4),
        _dataset().concatenate(_dataset()),
        tf.data.Dataset.zip(
            _dataset(), tf.data.Dataset.from_generator(range(12).__iter__, tf.int64)
        ),
    ],
    ids=["before_a_cache", "after_another", "python"],
)
def test_orders_that_cannot_come_again_are_told(data: tf.data.Dataset) -> None:
    reading = FirstReading(data, 0)
    reading.begin(FreshIterator.of(iter(data)).state)
    assert _resumed(data).cannot_repeat(by_replay=False)


def test_a_replay_of_a_dataset_that_was_read_is_told() -> None:
    data = _dataset()
    _begun(data)
    assert _resumed(data).cannot_repeat(by_replay=True)


@pytest.mark.parametrize("training", [None, 0])
def test_what_draws_no_order_is_not_watched(training: int | None) -> None:
    plain = tf.data.Dataset.range(_ROWS).shuffle(4, seed=1, reshuffle_each_iteration=False)
    assert not FirstReading(plain, training).is_watched
    assert not FirstReading([1, 2], training).is_watched
    assert FirstReading(_dataset(), training).is_watched == (training is not None)
