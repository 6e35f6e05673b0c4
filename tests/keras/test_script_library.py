"""Which objects of TensorFlow are saved by other means than the script's state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.src.legacy.preprocessing.image import ImageDataGenerator

from pitstop.engine.script_state import fingerprint
from pitstop.engine.script_state.state import ScriptState
from pitstop.engine.values.python_state import Encoder
from pitstop.keras.script_library import KerasLibrary


def test_the_contexts_of_summary_writers_are_no_state_of_the_script(tmp_path: Path) -> None:
    writer = tf.summary.create_file_writer(str(tmp_path))
    library = KerasLibrary()
    for value in (writer, writer.as_default(), tf.summary.record_if(True)):
        assert library.is_elsewhere(type(value))
    assert not library.is_elsewhere(dict)


def test_what_a_pipeline_calls_for_its_rows_belongs_to_the_input() -> None:
    kept = {"passes": 0}

    class Rows:
        def __init__(self) -> None:
            self.passes = 0

        def __call__(self) -> Iterator[Any]:
            self.passes += 1
            yield self.passes

    def rows() -> Iterator[Any]:
        kept["passes"] += 1
        yield kept["passes"]

    for source in (Rows(), rows, Rows().__call__):
        dataset = tf.data.Dataset.from_generator(source, output_signature=tf.TensorSpec(()))
        state = ScriptState(KerasLibrary())
        state.begin({}, {"x": dataset.shuffle(4).batch(2).prefetch(1)})
        list(dataset)
        saved, unverified = state.capture_input(Encoder(""))
        assert unverified == []
        assert "passes" in str(saved)


_ROW = tf.ones((1, 2))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (tf.ragged.constant([[1], [2, 3]]), tf.ragged.constant([[1], [2, 4]])),
        (tf.ragged.constant([["a"], ["b"]]), tf.ragged.constant([["a", "b"], []])),
        (tf.sparse.eye(2), tf.sparse.eye(3)),
        (tf.IndexedSlices(_ROW, tf.constant([0])), tf.IndexedSlices(_ROW, tf.constant([1]))),
    ],
)
def test_a_change_of_a_tensor_of_several_parts_is_noticed(before: Any, after: Any) -> None:
    state = ScriptState(KerasLibrary())
    held = [before]
    state.begin({"held": held}, {})
    state.capture(Encoder(""), read_ahead=False)
    assert state.unverified == []
    held[0] = after
    state.capture(Encoder(""), read_ahead=False)
    assert state.unverified != []


class Traced:
    def __init__(self) -> None:
        self.last: Any = None
        self.each: list[Any] = []
        self.named: dict[str, Any] = {}

    @tf.function
    def trace(self, x: Any) -> Any:
        self.last = x
        self.each = [x + 1.0, x + 2.0]
        self.named["last"] = x
        return x


def test_a_tensor_of_a_graph_has_no_value_to_restore() -> None:
    traced, again = Traced(), Traced()
    state, resumed = ScriptState(KerasLibrary()), ScriptState(KerasLibrary())
    state.begin({"held": traced}, {})
    for shape in ((), (2,)):
        traced.trace(tf.ones(shape))
        saved = state.capture(Encoder(""), read_ahead=False)
        assert state.unverified == []
    resumed.begin({"held": again}, {})
    again.trace(tf.ones(()))
    assert resumed.restore(saved, {}, read_ahead=False) == []
    assert len(again.each) == 2
    traced.each.append(open)
    state.capture(Encoder(""), read_ahead=False)
    assert state.unverified != []


class Late:
    """Like a module that is loaded when a name of it is asked for, and that is not installed."""

    def __init__(self) -> None:
        self.count = 0

    def __getattr__(self, name: str) -> Any:
        raise ImportError(name)


class LateOfKeras(Late):
    __module__ = "keras.src.utils.module_utils"


@pytest.mark.parametrize("kind", [Late, LateOfKeras])
def test_an_object_that_fails_for_unknown_names_is_not_asked_for_any(kind: type[Late]) -> None:
    late = kind()

    def act() -> None:
        late.count += 1

    state = ScriptState(KerasLibrary())
    state.begin({"act": act}, {})
    act()
    saved = state.capture(Encoder(""), read_ahead=False)
    assert state.unverified == []
    assert any("count" in (each["content"] or {}) for each in saved.values())


def test_a_queue_that_training_uses_is_named() -> None:
    waiting = tf.queue.FIFOQueue(4, [tf.float32], [()])

    def act() -> None:
        waiting.enqueue(1.0)

    state = ScriptState(KerasLibrary())
    state.begin({"act": act}, {})
    act()
    state.capture(Encoder(""), read_ahead=False)
    assert [each for each in state.unverified if "waiting" in each]


def test_a_setting_of_an_object_of_keras_is_noticed() -> None:
    held = [keras.regularizers.L2(0.5), keras.utils.Progbar(3, verbose=0)]
    state = ScriptState(KerasLibrary())
    state.begin({"held": held}, {})
    held[1].update(3, finalize=True)
    state.capture(Encoder(""), read_ahead=False)
    assert state.unverified == []
    held[0].l2 = 0.25
    state.capture(Encoder(""), read_ahead=False)
    assert [each for each in state.unverified if "L2" in each]


def test_an_array_of_tensors_is_named() -> None:
    held = [tf.TensorArray(tf.float32, 1).write(0, 1.0)]
    state = ScriptState(KerasLibrary())
    state.begin({"held": held}, {})
    state.capture(Encoder(""), read_ahead=False)
    assert [each for each in state.unverified if "held" in each]


def test_what_only_the_constructor_of_an_optimizer_sets_comes_back() -> None:
    held = [keras.optimizers.SGD(0.1, momentum=0.9)]
    state = ScriptState(KerasLibrary())
    state.begin({"held": held}, {})
    held[0].momentum = 0.5
    saved = state.capture(Encoder(""), read_ahead=False)
    assert state.unverified == []
    held[0].momentum = 0.9
    assert state.restore(saved, {}, read_ahead=False) == []
    assert held[0].momentum == 0.5


def test_the_step_of_summaries_is_a_setting_of_the_process() -> None:
    before = fingerprint.of_process()
    tf.summary.experimental.set_step(3)
    try:
        changed = fingerprint.of_process().items() - before.items()
    finally:
        tf.summary.experimental.set_step(None)
    assert [name for name, _ in changed] == ["tensorflow.summary.experimental.get_step()"]


@pytest.mark.parametrize(("mode", "is_told"), [("w", True), ("r+", True), ("r", False)])
def test_a_file_of_hdf5_that_is_written_is_always_another(
    mode: str, *, is_told: bool, tmp_path: Path
) -> None:
    with h5py.File(tmp_path / "values.h5", "w") as file:
        file["values"] = np.ones(3)
    with h5py.File(tmp_path / "values.h5", mode) as file:
        found = {fingerprint.fingerprint(file) for _ in range(2)}
    assert (len(found) == 2) is is_told
    assert fingerprint.fingerprint(file) is None


def test_what_autograph_sets_on_functions_is_no_state_of_the_script() -> None:
    def doubled(values: Any) -> Any:
        return values * 2

    def act() -> Any:
        return tf.numpy_function(doubled, [tf.ones(2)], tf.float32)

    state = ScriptState(KerasLibrary())
    state.begin({"act": act}, {})
    tf.function(act)()
    saved = state.capture(Encoder(""), read_ahead=False)
    assert "ag_dnc_wrapper__" in vars(doubled)
    assert "ag_dnc_wrapper__" not in str(saved)


def test_the_position_of_keras_own_image_iterators_is_state_of_the_input() -> None:
    rows = ImageDataGenerator().flow(np.ones((6, 4, 4, 1)), batch_size=2)
    state = ScriptState(KerasLibrary())
    state.begin({}, {"x": rows})
    rows[0]
    rows.on_epoch_end()
    saved, unverified = state.capture_input(Encoder(""))
    assert unverified == []
    assert "total_batches_seen" in str(saved)
    next(rows)
    assert any("index_generator" in each for each in state.capture_input(Encoder(""))[1])


def test_the_history_of_a_model_that_the_input_holds_is_no_state() -> None:
    class Hard(keras.utils.PyDataset):
        def __init__(self, model: Any) -> None:
            super().__init__()
            self.model = model

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    state = ScriptState(KerasLibrary())
    state.begin({"model": model}, {"x": Hard(model)})
    model.history = keras.callbacks.History()
    saved, unverified = state.capture_input(Encoder(""))
    assert unverified == []
    assert not any("history" in name for name in saved)
