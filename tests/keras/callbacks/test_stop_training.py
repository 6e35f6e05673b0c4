"""Whoever sets `model.stop_training` is found: callback, file, line, what it watched."""

from __future__ import annotations

import inspect
import sys
from types import FrameType
from typing import Any

import keras
import numpy as np
import pytest

from pitstop.events import StopTrainingSet
from pitstop.keras.callbacks import stop_training


class Model:
    """What Keras' trainer is for the flag: a class with an attribute."""

    def __init__(self) -> None:
        self.stop_training = False


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[StopTrainingSet]:
    monkeypatch.setattr(Model, "stop_training", False, raising=False)
    events: list[StopTrainingSet] = []

    def notify(_model: Any, frame: FrameType) -> None:
        events.append(stop_training.describe(frame, step=40, epoch=2))

    stop_training.watch(Model, notify)
    return events


class Impatient(keras.callbacks.Callback):
    patience = 4

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.model.stop_training = True


def line_of(function: Any, text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(at for at, line in enumerate(lines) if text in line)


def test_a_callback_of_the_script_is_named(told: list[StopTrainingSet]) -> None:
    callback = Impatient()
    callback.set_model(Model())
    callback.on_train_batch_end(1)
    (event,) = told
    assert (event.callback, event.function) == ("Impatient", "on_train_batch_end")
    assert event.file == __file__
    assert event.line == line_of(Impatient.on_train_batch_end, "stop_training = True")
    assert event.watched == {"patience": 4}
    assert (event.step, event.epoch) == (40, 2)


def test_a_callback_of_keras_tells_what_it_watched(told: list[StopTrainingSet]) -> None:
    callback = keras.callbacks.EarlyStopping(
        monitor="loss", patience=1, baseline=np.float64(0.5), mode="min"
    )
    model = Model()
    callback.set_model(model)
    callback.on_train_begin()
    for epoch in range(2):
        callback.on_epoch_end(epoch, {"loss": 0.7})
    (event,) = told
    assert model.stop_training
    assert event.callback == "EarlyStopping"
    assert event.file == inspect.getfile(keras.callbacks.EarlyStopping)
    assert event.function == "on_epoch_end"
    assert event.watched["monitor"] == "loss"
    assert event.watched["patience"] == 1
    assert event.watched["wait"] == 2
    assert event.watched["baseline"] == 0.5
    assert event.watched["best"] == pytest.approx(0.7)


def test_a_function_that_a_callback_calls_is_part_of_it(told: list[StopTrainingSet]) -> None:
    model = Model()

    def decide(_epoch: int, _logs: Any) -> None:
        model.stop_training = True

    callback = keras.callbacks.LambdaCallback(on_epoch_end=decide)
    keras.callbacks.CallbackList([callback]).on_epoch_end(0, {})
    (event,) = told
    assert (event.file, event.function) == (__file__, "decide")


def test_the_script_itself(told: list[StopTrainingSet]) -> None:
    model = Model()
    model.stop_training = True
    (event,) = told
    assert event.callback == ""
    assert (event.file, event.watched) == (__file__, {})
    assert event.function == "test_the_script_itself"


def test_only_becoming_true_is_told(told: list[StopTrainingSet]) -> None:
    model = Model()
    for value in (False, True, True, False, True):
        model.stop_training = value
    assert len(told) == 2


def test_restoring_the_flag_is_not_told(told: list[StopTrainingSet]) -> None:
    model = Model()
    stop_training.set_silently(model, value=True)
    assert model.stop_training
    assert told == []


def test_an_instance_that_never_had_it(told: list[StopTrainingSet]) -> None:
    assert Model.__new__(Model).stop_training is False
    assert told == []


def test_nobody_to_name() -> None:
    event = stop_training.describe(None, 1, 0)
    assert (event.callback, event.file, event.line, event.function) == ("", "", 0, "")


def test_a_lambda_belongs_to_the_callback_that_the_list_calls() -> None:
    seen = []

    def look(*_: Any) -> None:
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            seen.append(stop_training.callback_of(frame))
            frame = frame.f_back

    keras.callbacks.CallbackList(
        [keras.callbacks.LambdaCallback(on_epoch_begin=look)]
    ).on_epoch_begin(0)
    assert [name for name in seen if name] == ["LambdaCallback"]


def test_a_callback_list_is_no_callback() -> None:
    seen = []

    class Looking(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            frame: FrameType | None = sys._getframe()
            while frame is not None:
                seen.append(stop_training.callback_of(frame))
                frame = frame.f_back

    keras.callbacks.CallbackList([Looking()]).on_epoch_begin(0)
    assert set(filter(None, seen)) == {"Looking"}
