"""The training input of Keras 2, by the names of Keras 3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pitstop.keras.inputs import input_state
from pitstop.keras.legacy_source import LegacySource, placeholder, take_place

data_adapter = pytest.importorskip("tf_keras.src.engine.data_adapter")
DataHandler = data_adapter.DataHandler
TensorLikeDataAdapter = data_adapter.TensorLikeDataAdapter
ROWS = np.arange(10, dtype=np.float32)[:, None]


def source(x: Any, shuffle: Any = True, **arguments: Any) -> LegacySource:
    handler = DataHandler(x, batch_size=4, epochs=3, shuffle=shuffle, **arguments)
    return LegacySource(handler, arguments)


def batches() -> Iterator[Any]:
    while True:
        yield ROWS[:4]


def test_arrays_are_skipped_and_say_so() -> None:
    arrays = source(ROWS)
    assert input_state.kind_of(arrays.data_adapter) == "arrays"
    assert input_state.skips_rows(arrays.data_adapter)
    assert (arrays.data_adapter.batch_size, arrays.num_batches) == (4, 3)
    assert not input_state.skips_rows(source(ROWS, shuffle="batch").data_adapter)


@pytest.mark.parametrize("seen", [1, 3, 5])
def test_rows_that_are_skipped_leave_the_order_of_all_epochs(
    seen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tf.random.set_seed(3)
    whole = [each.numpy().tolist() for each in source(ROWS).handler._dataset]
    original = TensorLikeDataAdapter.slice_inputs
    skipping = lambda self, indices, inputs: original(self, indices.skip(seen), inputs)  # noqa: E731
    monkeypatch.setattr(TensorLikeDataAdapter, "slice_inputs", skipping)
    tf.random.set_seed(3)
    rest = [each.numpy().tolist() for each in source(ROWS).handler._dataset]
    assert len(whole) == 9
    assert rest == whole[seen:]


def test_a_pipeline_and_code_of_the_script_are_told_apart() -> None:
    pipeline = tf.data.Dataset.from_tensor_slices(ROWS).batch(4)
    dataset = LegacySource(DataHandler(pipeline), {})
    assert input_state.kind_of(dataset.data_adapter) == "dataset"
    assert dataset.data_adapter.is_renewed
    python = LegacySource(DataHandler(batches(), steps_per_epoch=2), {"workers": 1})
    assert input_state.kind_of(python.data_adapter) == "python"
    assert python.data_adapter.doubt == ""


@pytest.mark.parametrize("arguments", [{"workers": 2}, {"use_multiprocessing": True}])
def test_readers_beside_the_training_are_not_repeatable(arguments: dict[str, Any]) -> None:
    handler = DataHandler(batches(), steps_per_epoch=2)
    assert "not repeatable" in LegacySource(handler, arguments).data_adapter.doubt


def test_an_epoch_of_unknown_length_takes_what_is_known_of_it() -> None:
    endless = tf.data.Dataset.from_tensor_slices(ROWS).filter(lambda _: True).batch(4)
    unknown = LegacySource(DataHandler(endless), {})
    assert unknown.num_batches is None
    unknown._num_batches = 3
    assert unknown.num_batches == 3
    unknown._num_batches = 7
    assert unknown.num_batches == 3


def test_an_iterator_stands_for_another_one_in_a_traced_function() -> None:
    dataset = tf.data.Dataset.range(5)
    holder, real = placeholder(), iter(dataset)
    next(real)
    take_place(holder, real)
    traced = tf.function(lambda iterator: next(iterator) + 0)
    assert int(traced(holder)) == 1
    assert int(next(holder)) == 2
