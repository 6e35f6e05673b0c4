"""What can be told of a pipeline before it is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from pitstop.tensorflow.pipelines import pipeline

pytestmark = pytest.mark.usefixtures("watched_stages")
Dataset = tf.data.Dataset


def numbers() -> Any:
    return Dataset.range(9)


@pytest.mark.parametrize(
    ("more", "option", "is_open"),
    [
        ({}, None, False),
        ({}, False, True),
        ({"deterministic": True}, False, False),
        ({"deterministic": False}, None, True),
        ({"deterministic": False}, True, True),
    ],
)
def test_an_order_is_left_open_by_a_stage_or_by_an_option(
    more: dict[str, bool], option: bool | None, is_open: bool
) -> None:
    options = tf.data.Options()
    if option is not None:
        options.deterministic = option
    mapping = numbers().map(lambda each: each, num_parallel_calls=2, **more)
    reading = numbers().interleave(lambda _: numbers(), num_parallel_calls=2, **more)
    for dataset in (mapping, reading):
        assert pipeline.leaves_order_open(dataset.with_options(options).batch(2)) is is_open


def test_an_order_is_left_open_by_a_dataset_within_a_function() -> None:
    def inner(_: Any) -> Any:
        return numbers().map(lambda each: each, num_parallel_calls=2, deterministic=False)

    assert pipeline.leaves_order_open(numbers().flat_map(inner))


@pytest.mark.parametrize(
    ("make", "is_known"),
    [
        (lambda: numbers().shuffle(3).shuffle(3), True),
        (lambda: numbers().shuffle(3).concatenate(numbers()), True),
        (lambda: numbers().concatenate(numbers().shuffle(3)), True),
        (lambda: captured(numbers().shuffle(3)), False),
        (lambda: captured(numbers()), True),
        (lambda: numbers().shuffle(3).repeat(2), False),
    ],
)
def test_how_often_a_shuffle_begins_in_one_reading_is_known_or_not(
    make: Callable[[], Any], is_known: bool
) -> None:
    assert pipeline.repeats_a_shuffle(make()) is not is_known


def test_a_cache_in_a_captured_dataset_keeps_an_order() -> None:
    assert pipeline.captures_an_order(captured(numbers().shuffle(3).cache()))
    assert not pipeline.captures_an_order(captured(numbers().cache()))


def captured(dataset: Any) -> Any:
    return numbers().flat_map(lambda _: dataset)
