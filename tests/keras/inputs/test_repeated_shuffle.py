"""Shuffles whose order depends on who is quicker are found, where it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from pitstop.keras.inputs.input_level import RepeatedShuffles


def numbers() -> Any:
    return tf.data.Dataset.range(12)


def plain(dataset: Any) -> Any:
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    return dataset.with_options(options)


def doubled(dataset: Any) -> Any:
    return dataset.map(lambda x: x * 2, num_parallel_calls=2)


RACED: dict[str, Callable[[], Any]] = {
    "repeat": lambda: numbers().shuffle(12).repeat().batch(2),
    "seeded": lambda: numbers().shuffle(12, seed=3).repeat().batch(2),
    "own prefetch": lambda: plain(numbers().shuffle(12).repeat().batch(2).prefetch(4)),
    "parallel map": lambda: plain(doubled(numbers().shuffle(12).repeat())),
    "parallel batch": lambda: plain(numbers().shuffle(12).repeat().batch(2, num_parallel_calls=2)),
    "one of two": lambda: tf.data.Dataset.zip(numbers(), numbers().shuffle(12).repeat()),
    "random": lambda: tf.data.Dataset.random(rerandomize_each_iteration=True).take(9).repeat(),
}
FREE: dict[str, Callable[[], Any]] = {
    "no repeat": lambda: numbers().shuffle(12).batch(2).prefetch(4),
    "repeated first": lambda: numbers().repeat().shuffle(12).batch(2).prefetch(4),
    "one order": lambda: numbers().shuffle(12, reshuffle_each_iteration=False).repeat(),
    "nothing ahead": lambda: plain(numbers().shuffle(12).repeat().batch(2)),
    "ahead of the shuffle only": lambda: plain(doubled(numbers()).shuffle(12).repeat()),
    "ahead within": lambda: plain(numbers().shuffle(12).prefetch(4).repeat()),
    "no shuffle": lambda: numbers().repeat().prefetch(4),
    "no pipeline": lambda: [1, 2, 3],
}


@pytest.mark.parametrize("name", [*RACED, *FREE])
def test_shuffles_that_are_repeated_ahead_are_found(name: str) -> None:
    dataset = {**RACED, **FREE}[name]()
    assert bool(RepeatedShuffles(dataset, in_parts=False).found) is (name in RACED)


@pytest.mark.parametrize(("in_parts", "expected"), [(True, True), (False, False)])
def test_a_finite_repetition_counts_where_it_is_left(in_parts: bool, expected: bool) -> None:
    dataset = numbers().shuffle(12).repeat(3).batch(2)
    assert bool(RepeatedShuffles(dataset, in_parts=in_parts).found) is expected


def test_one_iterator_has_nobody_to_race_with() -> None:
    shuffles = RepeatedShuffles(RACED["repeat"](), in_parts=True)
    shuffles.begin()
    assert not shuffles.are_raced(iterators=1)
    assert shuffles.are_raced(iterators=2)


def test_another_reader_of_the_same_shuffle_races() -> None:
    rows = numbers().shuffle(12).repeat()
    one, two = rows.batch(2), rows.batch(3)
    first = RepeatedShuffles(one, in_parts=True)
    first.begin()
    other = RepeatedShuffles(two, in_parts=False)
    other.begin()
    assert first.are_raced(iterators=1)
    assert other.are_raced(iterators=1)


def test_readers_of_different_shuffles_do_not() -> None:
    first, other = (RepeatedShuffles(RACED["repeat"](), in_parts=True) for _ in range(2))
    first.begin()
    other.begin()
    assert not first.are_raced(iterators=1)
