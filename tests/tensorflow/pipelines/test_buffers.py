"""Pipelines that hold less give the same elements in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.data.ops import batch_op, cache_op, interleave_op, map_op, prefetch_op

from pitstop.tensorflow.pipelines import buffers, pipeline

_KINDS = (
    prefetch_op._PrefetchDataset,
    map_op._ParallelMapDataset,
    batch_op._ParallelBatchDataset,
    interleave_op._ParallelInterleaveDataset,
    cache_op.CacheDataset,
)


@pytest.fixture
def reduced() -> Iterator[None]:
    before = {kind: kind.__init__ for kind in _KINDS}
    buffers.reduce()
    yield
    for kind, init in before.items():
        kind.__init__ = init


def rows() -> Any:
    return tf.data.Dataset.from_tensor_slices(np.arange(24.0))


def noisy(row: Any) -> Any:
    return row + tf.random.uniform([], dtype=tf.float64)


PIPELINES: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "prefetch": (lambda: rows().prefetch(9), ["prefetch(buffer_size=9)"]),
    "tuned": (lambda: rows().prefetch(tf.data.AUTOTUNE), ["prefetch(buffer_size=AUTOTUNE)"]),
    "map": (
        lambda: rows().map(lambda row: row * 2, num_parallel_calls=4),
        ["map(num_parallel_calls=4)"],
    ),
    "batch": (lambda: rows().batch(4, num_parallel_calls=2), ["batch(num_parallel_calls=2)"]),
    "interleave": (
        lambda: tf.data.Dataset.range(3).interleave(
            lambda part: rows().shard(3, part), cycle_length=3, num_parallel_calls=3
        ),
        ["interleave(num_parallel_calls=3)"],
    ),
    "cache": (lambda: rows().map(lambda row: row * 2).cache().shuffle(9, seed=1), ["cache()"]),
    "two": (lambda: rows().cache().prefetch(2), ["prefetch(buffer_size=2)", "cache()"]),
}
KEPT: dict[str, Callable[[], Any]] = {
    "small": lambda: rows().prefetch(1),
    "shuffle": lambda: rows().shuffle(24, seed=1),
    "shuffle, cache": lambda: rows().shuffle(24, seed=1).cache(),
    "random, cache": lambda: rows().map(noisy).cache(),
    "generator, cache": lambda: tf.data.Dataset.from_generator(
        lambda: iter(range(3)), output_signature=tf.TensorSpec((), tf.int64)
    ).cache(),
}


def elements(dataset: Any) -> list[Any]:
    return [each.numpy().tolist() for _ in range(3) for each in dataset]


@pytest.mark.parametrize("name", PIPELINES)
def test_the_same_elements_come(name: str, request: pytest.FixtureRequest) -> None:
    make, large = PIPELINES[name]
    tf.random.set_seed(1)
    dataset = make()
    assert list(buffers.large_buffers(dataset)) == large
    expected = elements(dataset)
    request.getfixturevalue("reduced")
    tf.random.set_seed(1)
    small = make()
    assert list(buffers.large_buffers(small)) == []
    assert buffers.is_reduced(small)
    assert pipeline.pipeline_of(small) == pipeline.pipeline_of(dataset)
    assert elements(small) == expected


@pytest.mark.usefixtures("reduced")
@pytest.mark.parametrize("name", KEPT)
def test_what_would_be_another_order_is_kept(name: str) -> None:
    dataset = KEPT[name]()
    assert not buffers.is_reduced(dataset)
    assert list(buffers.large_buffers(dataset)) == []
    kept = elements(dataset)
    size = len(kept) // 3
    if "cache" in name:
        assert kept[:size] == kept[size : 2 * size]


def test_a_cache_in_a_file_is_left_alone(tmp_path: Any) -> None:
    assert list(buffers.large_buffers(rows().cache(str(tmp_path / "kept")))) == []


@pytest.mark.parametrize(
    ("dataset", "size_bytes"),
    [
        (rows, 0),
        (lambda: rows().shuffle(7), 7 * 8),
        (lambda: rows().shuffle(1000), 24 * 8),
        (lambda: rows().repeat().shuffle(1000), 1000 * 8),
        (lambda: rows().batch(4, drop_remainder=True).shuffle(3).batch(2), 3 * 4 * 8),
        (lambda: rows().batch(4).shuffle(3), 0),  # of batches of any size
        (lambda: rows().shuffle(2).shuffle(5), 5 * 8),
        (lambda: rows().map(lambda row: {"a": row, "b": tf.zeros((3,))}).shuffle(5), 5 * 20),
        (lambda: rows().map(tf.strings.as_string).shuffle(5), 0),
    ],
)
def test_what_a_shuffle_holds_at_least(dataset: Callable[[], Any], size_bytes: int) -> None:
    assert buffers.shuffle_bytes(dataset()) == size_bytes
