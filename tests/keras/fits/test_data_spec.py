"""Another training input is noticed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter
from keras.src.trainers.data_adapters.tf_dataset_adapter import TFDatasetAdapter

from pitstop.keras.fits import data_spec
from pitstop.tensorflow.pipelines import pipeline

ROWS = np.arange(200, dtype=np.float32).reshape(100, 2)


def describe(x: Any, batch_size: int = 10) -> dict[str, Any]:
    adapter = ArrayDataAdapter(x, batch_size=batch_size)
    return data_spec.describe(adapter, adapter.get_tf_dataset(), None)


def test_what_is_known_of_arrays() -> None:
    spec = describe(ROWS)
    assert (spec["adapter"], spec["batch_size"], spec["batches"]) == ("ArrayDataAdapter", 10, 10)
    assert spec["samples"] == 100
    assert "float32" in spec["elements"]


def test_what_is_known_of_a_dataset() -> None:
    dataset = tf.data.Dataset.from_tensor_slices(ROWS).batch(10).repeat()
    spec = data_spec.describe(TFDatasetAdapter(dataset), dataset, steps_per_epoch=7)
    assert (spec["adapter"], spec["batches"]) == ("TFDatasetAdapter", None)
    assert spec["steps_per_epoch"] == 7
    other = tf.data.Dataset.from_tensor_slices(ROWS + 1).batch(10).repeat()
    assert data_spec.describe(TFDatasetAdapter(other), other, 7)["digest"] != spec["digest"]


def rows() -> Any:
    return tf.data.Dataset.from_tensor_slices(ROWS)


@pytest.mark.parametrize(
    ("dataset", "stages"),
    [
        (rows().batch(10).repeat(), "TensorSlice > Batch 10 > Repeat -1"),
        (rows().shuffle(7).prefetch(2), "TensorSlice > Shuffle 7 > Prefetch"),
        (tf.data.Dataset.zip((rows(), rows())), "(TensorSlice, TensorSlice) > Zip"),
    ],
)
def test_the_stages_of_a_pipeline(dataset: Any, stages: str) -> None:
    spec = data_spec.describe(TFDatasetAdapter(dataset), dataset, None)
    assert spec["pipeline"] == stages


def _ragged(last: int) -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [3], [4, last]]))


def _sparse(last: int) -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices(tf.sparse.from_dense([[1, 0], [0, last]]))


@pytest.mark.parametrize("dataset", [_ragged, _sparse])
def test_ragged_and_sparse_data_are_known_by_their_values(dataset: Any) -> None:
    (one,), (same,), (other,) = (pipeline.source_tensors(dataset(last)) for last in (5, 5, 6))
    assert one.tobytes() == same.tobytes() != other.tobytes()
    one, same, other = (list(pipeline.contents_of(dataset(last))) for last in (5, 5, 6))
    assert one == same != other


def test_a_dataset_of_datasets_can_be_looked_at() -> None:
    nested = tf.data.Dataset.from_tensors(tf.data.Dataset.range(3))
    assert [each.dtype for each in pipeline.source_tensors(nested)] == [np.uint8]


def test_arrays_have_no_pipeline_of_the_user_s() -> None:
    assert "pipeline" not in describe(ROWS)


@pytest.mark.parametrize("as_input", [np.array, tf.constant, lambda x: {"a": x, "b": x[:, :1]}])
def test_the_same_data_does_not_differ(as_input: Any) -> None:
    assert data_spec.differences(describe(as_input(ROWS)), describe(as_input(ROWS))) == []


def test_another_order_is_noticed() -> None:
    ((name, before, now),) = data_spec.differences(describe(ROWS), describe(ROWS[::-1]))
    assert name == "digest"
    assert before != now


def test_every_difference_is_named() -> None:
    names = {name for name, _, _ in data_spec.differences(describe(ROWS), describe(ROWS[:50], 5))}
    assert names == {"batch_size", "elements", "samples", "digest"}


def test_a_member_that_only_one_has() -> None:
    assert data_spec.differences({"a": 1}, {"b": 2}) == [("a", "1", "None"), ("b", "None", "2")]


def test_a_single_row() -> None:
    assert describe(ROWS[:1])["samples"] == 1


def test_an_adapter_that_cannot_tell_its_sizes() -> None:
    class Shapeless:
        num_batches = None

        @property
        def batch_size(self) -> int:
            raise IndexError("a scalar has no first dimension")

    spec = data_spec.describe(Shapeless(), None, 7)
    assert (spec["batch_size"], spec["batches"], spec["steps_per_epoch"]) == (None, None, 7)
