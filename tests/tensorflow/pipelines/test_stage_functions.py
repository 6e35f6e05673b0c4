"""The functions of a pipeline: their state, and what is not saved with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from pitstop.tensorflow.pipelines import stage_functions

pytestmark = pytest.mark.usefixtures("watched_stages")
Dataset = tf.data.Dataset


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
    assert stage_functions.refused_op(make()) == op


@pytest.mark.parametrize(
    ("global_seed", "seed", "draws"), [(None, None, True), (4, None, False), (None, 3, False)]
)
def test_a_shuffle_in_a_function_draws_where_nothing_seeds_it(
    global_seed: int | None, seed: int | None, draws: bool
) -> None:
    tf.random.set_seed(global_seed)
    (stage,) = stage_functions.stateful_stages(
        numbers().flat_map(lambda _: numbers().shuffle(3, seed))
    )
    assert (stage.random_ops == {"ShuffleDatasetV3"}) is draws


def test_a_dataset_that_a_function_captures_is_looked_through() -> None:
    captured = mapped(in_python)
    assert stage_functions.refused_op(numbers().interleave(lambda _: captured)) == "EagerPyFunc"


def test_a_source_that_is_restored_elsewhere_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    rows = tf.data.experimental.CsvDataset([str(path)], [tf.int32] * 2, header=True)
    made = tf.data.experimental.make_csv_dataset(str(path), 1, num_epochs=1)
    read = numbers().interleave(lambda _: rows)
    for dataset in (rows.batch(2), made, read):
        assert "csv" in stage_functions.source_not_restored(dataset).lower()
        assert not stage_functions.is_saved(dataset)
    assert not stage_functions.source_not_restored(tf.data.TextLineDataset([str(path)]))
