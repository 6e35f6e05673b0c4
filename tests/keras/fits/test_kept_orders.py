"""A cache that keeps the order of a shuffle before it is filled on a resume as it was at first."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from pitstop.engine.values.python_state import Encoder
from pitstop.keras.fits import data_spec
from pitstop.keras.inputs.validation_input import ValidationInput
from pitstop.tensorflow.pipelines import pipeline
from tests.keras.inputs.test_training_input import reading

_ROWS = np.arange(48, dtype=np.float32)


def _rows() -> Any:
    return tf.data.Dataset.from_tensor_slices(_ROWS)


def _words() -> Any:
    look = keras.layers.StringLookup(vocabulary=[str(row) for row in _ROWS])
    return _rows().map(tf.strings.as_string).shuffle(48).map(look).batch(5).cache().prefetch(1)


_FOLDER = tempfile.TemporaryDirectory()


def _table_of_a_file() -> Any:
    path = Path(_FOLDER.name, "table.csv")
    path.write_text("a,b\n" + "".join(f"{row},{row % 2}\n" for row in _ROWS))
    options: dict[str, Any] = {"batch_size": 5, "label_name": "b", "num_epochs": 1}
    rows = tf.data.experimental.make_csv_dataset(str(path), **options)
    return rows.map(lambda row, _: row["a"]).cache()


_table = tf.Variable(2.0, trainable=False)

FILLED: dict[str, Callable[[], Any]] = {
    "batches": lambda: _rows().shuffle(48).batch(5).cache(),
    "a seed of its own": lambda: _rows().shuffle(48, seed=3).cache().batch(5).prefetch(1),
    "same each time": lambda: _rows().shuffle(48, reshuffle_each_iteration=False).cache().batch(5),
    "words": _words,
    "in parallel": lambda: _rows().shuffle(9).map(lambda row: row * 2, 2).batch(5).cache(),
    "a table in a file": _table_of_a_file,
}
OTHERS: dict[str, Callable[[], Any]] = {
    "a shuffle behind it": lambda: _rows().shuffle(48).cache().shuffle(48).batch(5),
    "Python code": lambda: (
        _rows()
        .map(lambda row: tf.numpy_function(lambda each: each, [row], tf.float32))
        .shuffle(48)
        .batch(5)
        .cache()
    ),
    "random numbers": lambda: (
        _rows().shuffle(48).map(lambda row: row + tf.random.normal(())).batch(5).cache()
    ),
    "a variable": lambda: _rows().shuffle(48).map(lambda row: row * _table).batch(5).cache(),
    "no cache": lambda: _rows().shuffle(48).batch(5),
}


def _made(make: Callable[[], Any]) -> Any:
    """As the script of a new process makes it."""
    keras.utils.set_random_seed(7)
    return make()


def _read(dataset: Any) -> list[list[float]]:
    return [batch.numpy().tolist() for batch in dataset]


@pytest.mark.parametrize("name", [*FILLED, *OTHERS])
def test_which_are_filled_again(name: str) -> None:
    dataset = _made((FILLED | OTHERS)[name])
    assert pipeline.fills_alike(dataset) is (name in FILLED)
    assert pipeline.fills_alike(dataset.take(3)) is (name in FILLED)


def test_without_a_seed_none_is() -> None:
    tf.random.set_seed(None)
    assert not pipeline.fills_alike(FILLED["batches"]())
    assert not pipeline.fills_alike(_rows())
    assert not pipeline.fills_alike((_ROWS, _ROWS))


@pytest.mark.parametrize("drawn", [0, 4, 10])
@pytest.mark.parametrize(("unread", "created"), [(0, 1), (0, 3), (1, 1), (1, 3)])
@pytest.mark.parametrize("name", FILLED)
def test_training_goes_on_in_its_order(name: str, unread: int, created: int, drawn: int) -> None:
    """Keras 2 creates an iterator that it does not read."""
    stopped = reading(_made(FILLED[name]))
    for _ in range(unread):
        stopped.before_iterator()
        stopped.create_iterator()
    for _ in range(created - 1):
        stopped.state.drawn += len(_read(stopped.iterator))
        stopped.before_iterator()
        stopped.create_iterator()
    for _ in range(drawn):
        next(stopped.iterator)
    stopped.state.drawn += drawn
    assert stopped.level.level == "exact_by_replay"
    encoder = Encoder("")
    described, tensors = stopped.capture(encoder)
    assert tensors == []
    position = SimpleNamespace(milestone="", stage="steps")
    arrays = {name: memoryview(each.data) for name, each in encoder.arrays.items()}
    empty: dict[str, Any] = {"cut": {}, "input": {}, "arrays": {}}
    state = {"fit": {"input": described, "objects": empty}}
    saved: Any = SimpleNamespace(state=state, tensors=arrays, position=position)
    resumed = reading(_made(FILLED[name]), fresh=True)
    resumed.state.replay_instead(described)
    resumed.prepare(saved)
    resumed.restore(saved, lambda _: None)
    assert _read(resumed.iterator) == _read(stopped.iterator)
    for each in (stopped, resumed):
        each.before_iterator()
        each.create_iterator()
    assert _read(resumed.iterator) == _read(stopped.iterator)


@pytest.mark.parametrize("unread", [0, 1])
@pytest.mark.parametrize("times", [0, 1, 3])
@pytest.mark.parametrize("name", FILLED)
def test_validation_goes_on_in_its_order(name: str, times: int, unread: int) -> None:
    data = _made(FILLED[name])
    stopped = ValidationInput(data)
    for _ in range(times):
        for _ in range(unread):
            iter(data)
        _read(data)
        stopped.ended(None, 1 + unread, unread)
    assert stopped.level.level == "exact"
    described, tensors = stopped.capture(Encoder(""))
    assert tensors == []
    again = _made(FILLED[name])
    resumed = ValidationInput(again)
    resumed.restore(described, {})
    assert _read(again) == _read(data)
    assert _read(again) == _read(data)


def test_what_others_read_is_not_exact() -> None:
    assert ValidationInput(_made(FILLED["batches"]), is_shared=True).level.level == "not_exact"


def test_another_seed_is_another_input() -> None:
    one, other = (_rows().shuffle(48, seed=seed).batch(5).cache() for seed in (1, 2))
    adapter = SimpleNamespace(name="dataset", kind="dataset")
    first, second = (data_spec.describe(adapter, each, None) for each in (one, other))
    assert [name for name, _, _ in data_spec.differences(first, second)] == ["orders"]
