"""What the stages of a pipeline say of its exactness before anything is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from keras.src.trainers.data_adapters.tf_dataset_adapter import TFDatasetAdapter

from pitstop.keras.inputs.input_state import InputMode, InputState
from pitstop.tensorflow.pipelines import pipeline


def numbers() -> Any:
    return tf.data.Dataset.range(8)


def mapped(deterministic: bool | None) -> Any:
    return numbers().map(lambda x: x + 1, num_parallel_calls=2, deterministic=deterministic)


def with_option(dataset: Any, deterministic: bool) -> Any:
    options = tf.data.Options()
    options.deterministic = deterministic
    return dataset.with_options(options)


def state_of(dataset: Any, mode: InputMode = InputMode.AUTO) -> InputState:
    batches = dataset.batch(2)
    return InputState.of(TFDatasetAdapter(batches), mode, batches)


@pytest.mark.parametrize(
    ("dataset", "is_open"),
    [
        (mapped(deterministic=None), False),
        (mapped(deterministic=True), False),
        (mapped(deterministic=False), True),
        (with_option(mapped(deterministic=None), deterministic=False), True),
        (with_option(mapped(deterministic=True), deterministic=False), False),
        (with_option(numbers(), deterministic=False), False),
        (tf.data.Dataset.zip(numbers(), mapped(deterministic=False)), True),
    ],
)
def test_an_order_that_is_left_open_is_found(dataset: Any, is_open: bool) -> None:
    assert pipeline.leaves_order_open(dataset.batch(2)) is is_open
    assert state_of(dataset).level.level == ("not_exact" if is_open else "exact")


def test_an_open_order_stays_inexact_when_it_is_replayed() -> None:
    state = state_of(mapped(deterministic=False), InputMode.REPLAY)
    state.replay_from_now_on("it is large")
    assert (state.by_replay, state.level.level) == (True, "not_exact")


@pytest.mark.parametrize("stage", ["cache", "snapshot"])
def test_a_pipeline_that_keeps_elements_in_a_file_is_replayed(stage: str, tmp_path: Path) -> None:
    file = str(tmp_path / "kept")
    state = state_of(getattr(numbers(), stage)(file).shuffle(8))
    assert (state.by_replay, state.level.level) == (True, "exact_by_replay")
    assert state.level.reason.endswith(file)


def test_a_cache_in_memory_is_saved_as_it_is() -> None:
    state = state_of(numbers().cache())
    assert (state.by_replay, state.level.level) == (False, "exact")
