"""What can be told of a pipeline before it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.data.ops import interleave_op

from pitstop.tensorflow import pipeline

Dataset = tf.data.Dataset


@pytest.fixture(autouse=True)
def watched() -> Iterator[None]:
    kinds = interleave_op._ParallelInterleaveDataset, tf.data.Dataset
    before = [kind.__init__ for kind in kinds]
    pipeline.watch()
    yield
    for kind, init in zip(kinds, before, strict=True):
        kind.__init__ = init


def numbers() -> Any:
    return Dataset.range(9)


def mapped(function: Callable[[Any], Any]) -> Any:
    return numbers().map(function)


def in_python(number: Any) -> Any:
    return tf.py_function(lambda value: value, [number], tf.int64)


VARIABLE = tf.Variable(1, dtype=tf.int64)


@pytest.mark.parametrize(
    ("make", "op"),
    [
        (lambda: numbers().shuffle(3).batch(2), None),
        (lambda: mapped(lambda number: tf.random.stateless_uniform([], [1, number])), None),
        (lambda: mapped(lambda number: tf.constant([1.0] * 9)[number]), None),
        (lambda: numbers().interleave(lambda _: tf.data.TextLineDataset(["x"])), None),
        (lambda: mapped(in_python), "EagerPyFunc"),
        (lambda: mapped(in_python).shuffle(99), "EagerPyFunc"),
        (lambda: mapped(lambda number: number + VARIABLE), "ReadVariableOp"),
        (lambda: numbers().filter(lambda _: tf.random.uniform([]) > 0.5), "RandomUniform"),
        (
            lambda: Dataset.from_generator(
                lambda: iter([1]), output_signature=tf.TensorSpec((), tf.int64)
            ),
            "PyFunc",
        ),
    ],
)
def test_the_op_is_named_for_which_no_iterator_is_saved(
    make: Callable[[], Any], op: str | None
) -> None:
    assert pipeline.refused_op(make()) == op


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
    ("global_seed", "seed", "draws"), [(None, None, True), (4, None, False), (None, 3, False)]
)
def test_a_shuffle_in_a_function_draws_where_nothing_seeds_it(
    global_seed: int | None, seed: int | None, draws: bool
) -> None:
    tf.random.set_seed(global_seed)
    (stage,) = pipeline.stateful_stages(numbers().flat_map(lambda _: numbers().shuffle(3, seed)))
    assert (stage.random_ops == {"ShuffleDatasetV3"}) is draws


def test_a_dataset_that_a_function_captures_is_looked_through() -> None:
    captured = mapped(in_python)
    assert pipeline.refused_op(numbers().interleave(lambda _: captured)) == "EagerPyFunc"


def test_a_source_that_is_restored_elsewhere_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    rows = tf.data.experimental.CsvDataset([str(path)], [tf.int32] * 2, header=True)
    made = tf.data.experimental.make_csv_dataset(str(path), 1, num_epochs=1)
    read = numbers().interleave(lambda _: rows)
    for dataset in (rows.batch(2), made, read):
        assert "csv" in pipeline.source_not_restored(dataset).lower()
        assert not pipeline.is_saved(dataset)
    assert not pipeline.source_not_restored(tf.data.TextLineDataset([str(path)]))
