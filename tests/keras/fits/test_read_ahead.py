"""A later training that goes on where the generator of an earlier one has read to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from pitstop.keras.fits.read_ahead import ReadAhead
from pitstop.tensorflow import randomness


def rows(*sources: Any) -> Iterator[int]:
    while True:
        yield len(sources)


def drawing() -> Iterator[float]:
    while True:
        yield float(np.random.rand())


def after(data: Any, *, is_partly_read: bool = True) -> ReadAhead:
    """What is known after a fit that has read one row."""
    ahead, created = ReadAhead(), randomness.capture()
    assert not ahead.doubt(data, reseeded=False)
    next(data)
    ahead.note(data, created, is_partly_read=is_partly_read)
    return ahead


def test_a_generator_that_an_earlier_fit_has_read_begins_nowhere_known() -> None:
    data = rows()
    ahead = after(data)
    assert ahead.doubt(data, reseeded=False)
    assert not ahead.doubt(rows(), reseeded=False)
    assert not ahead.doubt([1], reseeded=False)


@pytest.mark.parametrize("source", [itertools.count(), np.random.default_rng(0)])
def test_generators_that_draw_from_one_object_begin_nowhere_known(source: Any) -> None:
    ahead = after(rows(source))
    assert type(source).__name__ in ahead.doubt(rows(source), reseeded=True)
    assert not ahead.doubt(rows(itertools.count(), np.random.default_rng(0)), reseeded=False)
    assert not after(rows(source), is_partly_read=False).doubt(rows(source), reseeded=False)


def test_a_global_stream_is_nowhere_known_until_it_is_seeded() -> None:
    keras.utils.set_random_seed(1)
    assert not after(rows()).doubt(drawing(), reseeded=False)
    ahead = after(drawing())
    assert not ahead.doubt([1], reseeded=False)
    assert "stream of numpy" in ahead.doubt(drawing(), reseeded=False)
    np.random.rand()
    assert ahead.doubt([1], reseeded=False)
    assert not ahead.doubt(drawing(), reseeded=True)


def test_a_pipeline_that_runs_python_code_reads_ahead_too() -> None:
    spec = tf.TensorSpec((), tf.float32)
    data = tf.data.Dataset.from_generator(drawing, output_signature=spec).batch(2)
    ahead, created = ReadAhead(), randomness.capture()
    np.random.rand()
    ahead.note(data, created, is_partly_read=True)
    assert "stream of numpy" in ahead.doubt(data, reseeded=False)
    assert not ahead.doubt(tf.data.Dataset.range(3), reseeded=False)
