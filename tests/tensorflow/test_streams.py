"""Streams that a replay moved stay with the input; the others are set to the cut."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pitstop.tensorflow import randomness
from pitstop.tensorflow.randomness import RandomStreams


@pytest.fixture(autouse=True)
def own_streams() -> Iterator[None]:
    """The process' random streams as they were, afterwards."""
    tf.random.set_seed(1)
    before = randomness.capture()
    yield
    randomness.restore(before)


def looking(**roots: Any) -> RandomStreams:
    streams = RandomStreams()
    streams.look(roots)
    return streams


def draw(generator: np.random.Generator) -> list[float]:
    return [random.random(), np.random.random(), float(tf.random.uniform([])), generator.random()]


def test_all_streams_go_on_where_they_were() -> None:
    generator = np.random.default_rng(3)
    streams = looking(x=generator)
    saved = streams.capture()
    expected = draw(generator)
    streams.restore(saved)
    assert draw(generator) == expected


def test_moved_streams_stay_and_the_rest_is_set_to_the_cut() -> None:
    readers, callbacks = np.random.default_rng(3), np.random.default_rng(4)
    streams = looking(x=readers, y=callbacks)
    created = streams.capture()
    # The interrupted run: both threads have drawn.
    draw(readers), draw(callbacks)
    cut = streams.capture()
    # The replay: only the reader draws, from NumPy's stream and its own.
    streams.restore(created)
    replayed = [np.random.random(), readers.random(), readers.random()]
    streams.restore_unmoved(cut, created)
    now = streams.capture()
    assert replayed
    assert now["python"] == cut["python"]
    assert now["tensorflow_eager"] == cut["tensorflow_eager"]
    assert now["objects"]["y"] == cut["objects"]["y"]
    assert now["numpy"][2] != cut["numpy"][2]
    assert now["objects"]["x"] != cut["objects"]["x"]


def test_the_functions_of_a_pipeline_lead_to_their_generators() -> None:
    hidden = np.random.default_rng(3)

    def rows() -> Iterator[Any]:
        yield hidden.random()

    dataset = tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec(()))
    mapped = tf.data.Dataset.range(3).map(
        lambda x: tf.numpy_function(lambda y: y + hidden.random(), [x], tf.float64)
    )
    for pipeline in (dataset.batch(2).prefetch(1), mapped):
        [name] = [name for name in looking(x=pipeline).capture()["objects"] if "hidden" in name]
        assert name.startswith("x.")


def test_generators_that_are_gone_are_named() -> None:
    saved = looking(x=random.Random(3)).capture()
    assert "x" in looking().missing(saved, {})


def test_a_generator_that_made_the_data_may_be_gone() -> None:
    """A script makes its features once, and reads them from a file later."""
    makes_data, draws = np.random.default_rng(3), np.random.default_rng(4)
    streams = looking(x=makes_data, y=draws)
    before = streams.capture()
    draws.random()
    assert looking(z=draws).missing(streams.capture(), before) == ["y"]
