"""The hook points are where this version of Keras has them, or are named."""

from __future__ import annotations

import linecache
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import keras
import numpy as np
import pytest
from keras.src.backend.tensorflow.core import Variable
from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable

from pitstop.errors import UnsupportedVersion
from pitstop.keras import private, tensorboard
from pitstop.keras.common_private import replace_inner_fit
from pitstop.keras.fits import fit_call
from pitstop.keras.inputs.training_input import fixed_batch_size
from pitstop.keras.models.variable_paths import VariablePaths
from pitstop.tensorflow.variables.variables import VariableRegistry

METHODS = [
    (private.EpochIterator, "_enumerate_iterator"),
    (private.EpochIterator, "_interrupted_warning"),
    (private.EpochIterator, "_get_iterator"),
    (private.CallbackList, "on_train_begin"),
    (private.CallbackList, "on_train_batch_end"),
    (private.CallbackList, "on_test_end"),
    (private.CallbackList, private._FLUSH_FUTURES),
    (private.TensorFlowTrainer, "make_train_function"),
]


def test_the_installed_version_is_supported() -> None:
    private.check()


@pytest.mark.parametrize(("owner", "name"), METHODS)
def test_a_method_that_is_gone_is_named(
    owner: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A base class may have one of the same name: None stands for "gone".
    monkeypatch.setattr(owner, name, None)
    with pytest.raises(UnsupportedVersion, match=f"{owner.__name__}.{name}, which exact") as caught:
        private.check()
    assert keras.__version__ in caught.value.message
    assert "3.15" in caught.value.remedy


@pytest.mark.parametrize(("owner", "name"), METHODS)
def test_a_method_with_another_signature_is_named(
    owner: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, print)
    with pytest.raises(UnsupportedVersion, match=name):
        private.check()


def test_an_iteration_that_works_otherwise_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def _enumerate_iterator(self: Any) -> Any:
        yield self._current_iterator, self._steps_seen

    monkeypatch.setattr(private.EpochIterator, "_enumerate_iterator", _enumerate_iterator)
    with pytest.raises(UnsupportedVersion, match="_num_batches"):
        private.check()


def test_a_fit_without_its_filter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private.TensorFlowTrainer, "fit", print)
    with pytest.raises(UnsupportedVersion, match="traceback filter around fit"):
        private.check()


@pytest.mark.parametrize("name", ["_NAME_COUNTS", "_GLOBAL_SEEDS"])
def test_a_global_state_with_another_name_is_named(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private, name, "renamed")
    with pytest.raises(UnsupportedVersion, match="renamed"):
        private.check()


@pytest.fixture
def model() -> Any:
    made = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, name="out")])
    made.compile(optimizer="adam", loss="mse", metrics=["mae"])
    made.optimizer.build(made.trainable_variables)
    return made


def test_fit_is_wrapped_inside_of_the_filter(model: Any) -> None:
    calls = []
    originals = []

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        originals.append(original)

        def fit(self: Any, *_args: Any, **settings: Any) -> str:
            calls.append((self, settings))
            return "history"

        return fit

    replace_inner_fit(private.TensorFlowTrainer, wrap)
    try:
        assert model.fit(epochs=3) == "history"
    finally:
        replace_inner_fit(private.TensorFlowTrainer, lambda _replaced: originals[0])
    assert calls == [(model, {"epochs": 3})]


def test_a_step_is_named_as_this_version_does() -> None:
    source = private.EpochIterator(np.zeros((4, 1)), batch_size=2)
    (step, *last, iterator), *_ = source._enumerate_iterator()
    assert private.step_item(step, step, iterator) == (step, *last, iterator)


def test_variables_have_readable_paths(model: Any) -> None:
    path_of = VariablePaths(model)
    kernel = model.layers[-1].kernel
    assert path_of(kernel.value).endswith("/out/kernel")
    assert path_of(model.optimizer.iterations.value).endswith("/iteration")
    assert path_of(model.metrics_variables[0].value) == "loss/total"


def test_a_later_fit_begins_at_its_own_epoch(model: Any) -> None:
    private.continue_at_epoch(model, 4)
    assert model._initial_epoch == 4
    private.continue_at_epoch(model, None)
    assert model._initial_epoch is None


def test_callbacks_in_threads_are_waited_for() -> None:
    gate = threading.Event()
    done: list[int] = []

    class Slow(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            gate.wait()
            done.append(batch)

    # As Keras does where its backend allows it.
    callbacks = private.CallbackList([Slow()])
    callbacks._async_train = True
    callbacks._executor = ThreadPoolExecutor()
    callbacks.on_train_begin()
    callbacks.on_train_batch_end(7)
    threading.Timer(0.01, gate.set).start()
    private.flush_callbacks(callbacks)
    assert done == [7]
    callbacks.on_train_end()


def test_without_threads_there_is_nothing_to_wait_for() -> None:
    callbacks = private.CallbackList([])
    assert callbacks._executor is None
    private.flush_callbacks(callbacks)


def test_a_warning_keeps_the_place_that_keras_gives_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(_: Any) -> None:
        warnings.warn("ran out", UserWarning, stacklevel=1)

    monkeypatch.setattr(private.EpochIterator, "_interrupted_warning", warn)
    private.warn_as_keras()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        private.EpochIterator._interrupted_warning(None)
    (warning,) = caught
    assert warning.filename.endswith("keras/src/trainers/epoch_iterator.py")
    assert str(warning.message) == "ran out"
    assert "_interrupted_warning" in linecache.getline(warning.filename, warning.lineno)


def test_the_arguments_of_fit_have_names() -> None:
    model = keras.Model()
    given = fit_call.arguments(model, ("x", "y"), {"validation_data": "v"})
    assert given == {"x": "x", "y": "y", "validation_data": "v"}
    assert fit_call.arguments(model, (), {"unknown": 1}) == {"unknown": 1}


@pytest.mark.parametrize(("shape", "rows"), [((None, 2), 1), ((5, 2), 5)])
def test_the_batch_size_of_a_model_is_known_if_it_is_fixed(
    shape: tuple[int | None, int], rows: int
) -> None:
    model = keras.Sequential([keras.Input(batch_shape=shape), keras.layers.Dense(1)])
    assert fixed_batch_size(model) == rows
    assert fixed_batch_size(keras.Model()) == 1


def compiled(learning_rate: Any) -> Any:
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(learning_rate), "mse")
    return model


def test_a_learning_rate_that_is_a_number_is_known() -> None:
    assert private.known_learning_rate(compiled(0.25)) == 0.25
    schedule = keras.optimizers.schedules.ExponentialDecay(0.5, 1, 0.5)
    assert private.known_learning_rate(compiled(schedule)) == 0.5


def test_a_learning_rate_that_runs_code_of_the_script_is_not_asked_for() -> None:
    class Counting(keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step: Any) -> Any:
            pytest.fail("it was called")

    assert private.known_learning_rate(compiled(Counting())) is None


def test_the_log_folder_of_tensorboard(tmp_path: Any) -> None:
    board = keras.callbacks.TensorBoard(str(tmp_path / "logs"))
    board.set_model(compiled(0.1))
    assert tensorboard.log_folder([keras.callbacks.History(), board]) == str(tmp_path / "logs")
    assert tensorboard.log_folder([keras.callbacks.History()]) == ""


def test_keras_tells_the_path_of_a_variable_at_its_creation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Setting them to themselves brings them back after the test.
    monkeypatch.setattr(Variable, "_initialize", Variable._initialize)
    monkeypatch.setattr(BaseResourceVariable, "__init__", BaseResourceVariable.__init__)
    registry = VariableRegistry()
    registry.install()
    private.watch_names(registry.naming)
    layer = keras.layers.Dense(2, name="told")
    layer.build((None, 3))
    counts = registry.naming.counts()["keras"]
    keras.layers.Dense(2)
    assert {item["path"] for item in registry.hold().state["variables"]} >= {"told/kernel"}
    assert registry.naming.counts()["keras"]["dense"] == counts.get("dense", 0) + 1
    registry.naming.advance({"keras": {"dense": 1000}})
    assert keras.layers.Dense(2).name == "dense_1000"
