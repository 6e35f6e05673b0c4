"""Python values that a training step keeps as constants, and those it finds when traced again."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from pitstop.keras.models import model_functions
from pitstop.keras.models.model_functions import ModelFunctions
from pitstop.tensorflow import private
from pitstop.tensorflow.traced_ops import OpKind

ROWS, ANSWERS = np.ones((4, 2), "float32"), np.ones((4, 1), "float32")


@pytest.fixture(autouse=True, scope="module")
def _counted() -> None:
    private.on_traced_op({})


class Weighted(keras.Model):
    """Its loss has a factor that is a number of Python."""

    def __init__(self, factor: Any) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(1)
        self.factor = factor

    def call(self, rows: Any) -> Any:
        return self.dense(rows)

    def compute_loss(self, *arguments: Any, **named: Any) -> Any:
        return super().compute_loss(*arguments, **named) * tf.reduce_mean(self.factor)


def compiled(factor: Any, **options: Any) -> tuple[Weighted, ModelFunctions]:
    model = Weighted(factor)
    model.compile("adam", "mse", **options)
    return model, ModelFunctions(model)


def fit(model: Any) -> None:
    model.fit(ROWS, ANSWERS, batch_size=2, verbose=0)


@pytest.mark.parametrize("options", [{}, {"steps_per_execution": 2}, {"jit_compile": True}])
def test_a_step_that_is_traced_again_with_another_value_is_told(options: dict[str, Any]) -> None:
    model, traced = compiled(0.5, **options)
    fit(model)
    model.factor = 2.0
    assert not traced.look()
    saved = traced.capture()
    for factor, is_other in ((0.5, False), (2.0, True)):
        resumed, followed = compiled(factor, **options)
        followed.restore(saved, {}, {})
        fit(resumed)
        assert ("the training step" in followed.look()) is is_other
        assert followed.look() == ""


def test_a_step_that_was_traced_before_the_restore_is_compared() -> None:
    model, traced = compiled(0.5)
    fit(model)
    traced.look()
    resumed, followed = compiled(2.0)
    fit(resumed)
    assert not followed.look()
    followed.restore(traced.capture(), {}, traced.inputs())
    assert "the training step" in followed.look()


def test_what_one_batch_was_traced_with_is_told_as_well() -> None:
    model, traced = compiled(0.5)
    model.train_on_batch(ROWS, ANSWERS)
    assert not traced.look()
    for factor, is_other in ((0.5, False), (2.0, True)):
        resumed, followed = compiled(factor)
        followed.restore(traced.capture(), {}, traced.inputs())
        resumed.train_on_batch(ROWS, ANSWERS)
        assert ("the training step" in followed.look()) is is_other


def test_the_next_fit_keeps_the_step_unless_the_model_is_compiled_again() -> None:
    model, traced = compiled(0.5)
    fit(model)
    traced.look()
    for compiles in (False, True):
        resumed, ended = compiled(0.5)
        ended.restore(traced.capture(), {}, traced.inputs())
        resumed.factor = 2.0
        if compiles:
            resumed.compile("adam", "mse")
        next_fit = ModelFunctions(resumed)
        fit(resumed)
        assert bool(next_fit.look()) is not compiles


def test_functions_of_validation_and_prediction_are_compared() -> None:
    model, traced = compiled(0.5)
    model.evaluate(ROWS, ANSWERS, verbose=0)
    traced.look()
    resumed, followed = compiled(0.25)
    followed.restore(traced.capture(), {}, traced.inputs())
    resumed.predict(ROWS, verbose=0)
    assert not followed.look()
    resumed.evaluate(ROWS, ANSWERS, verbose=0)
    assert "test_function" in followed.look()


def test_a_model_that_runs_eagerly_reads_each_value_anew() -> None:
    model, traced = compiled(0.5, run_eagerly=True)
    fit(model)
    assert not traced.look()
    assert traced.capture() == {}


def test_a_large_tensor_in_the_place_of_another_is_told() -> None:
    model, traced = compiled(tf.ones((4, 300)))
    fit(model)
    traced.look()
    for factor in (1.0, 2.0):
        resumed, followed = compiled(tf.fill((4, 300), factor))
        followed.restore(traced.capture(), {}, traced.inputs())
        fit(resumed)
        assert bool(followed.look()) is (factor == 2.0)


def test_a_later_fit_reads_no_graph_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []

    def look(function: Any) -> tuple[dict[str, str], dict[OpKind, str]]:
        read.append(function)
        return {}, {}

    monkeypatch.setattr(model_functions, "look", look)
    model, traced = compiled(0.5)
    fit(model)
    traced.look()
    fit(model)
    ModelFunctions(model).look()
    assert len(read) == 2, "that of a step, and that of a batch in it"


def measures(factor: float, *, draws: bool = False) -> Any:
    """A callback that calls a function of the script, whose factor is a number of Python."""

    class Measures(keras.callbacks.Callback):
        @tf.function
        def measure(self, value: Any) -> Any:
            return value * factor + (tf.random.uniform(()) if draws else 0.0)

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            self.measure(tf.constant(1.0))

    return Measures()


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_function_of_a_callback_is_compared(factor: float) -> None:
    callback, (_, traced) = measures(0.5), compiled(1.0)
    traced.begin([callback])
    callback.on_epoch_end(0)
    assert not traced.look()
    resumed, (_, followed) = measures(factor), compiled(1.0)
    followed.begin([resumed])
    followed.restore(traced.capture(), {}, traced.inputs())
    resumed.on_epoch_end(1)
    assert bool(followed.look()) is (factor == 2.0)


@pytest.mark.parametrize("draws", [True, False])
def test_a_function_that_was_traced_before_and_draws_is_named(*, draws: bool) -> None:
    callback = measures(0.5, draws=draws)
    callback.on_epoch_end(0)
    _, traced = compiled(1.0)
    traced.begin([callback])
    traced.look()
    assert ("measure" in traced.draws) is draws


HELD: dict[str, Any] = {}


class Asks(keras.callbacks.Callback):
    """Trains and asks what a global holds."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        HELD["critic"].train_on_batch(ROWS, ANSWERS)
        HELD["own"](tf.constant(1.0))


def asking(critic_factor: float, own_factor: float) -> tuple[Asks, ModelFunctions]:
    HELD["critic"], _ = compiled(critic_factor)
    HELD["critic"].name = "critic"
    HELD["own"] = tf.function(lambda value: value * own_factor)
    _, followed = compiled(1.0)
    callback = Asks()
    followed.begin([callback])
    return callback, followed


@pytest.mark.parametrize(
    ("critic_factor", "own_factor", "told"),
    [(0.5, 0.5, ""), (2.0, 0.5, "train_function of critic"), (0.5, 2.0, "<lambda>")],
)
def test_other_models_and_what_collections_hold_are_compared(
    critic_factor: float, own_factor: float, told: str
) -> None:
    callback, traced = asking(0.5, 0.5)
    callback.on_epoch_end(0)
    assert not traced.look()
    saved = traced.capture()
    callback, followed = asking(critic_factor, own_factor)
    followed.restore(saved, {}, {})
    callback.on_epoch_end(1)
    assert followed.look().partition(" was")[0].endswith(told)


class Counting(Weighted):
    """Counts how often its steps are traced."""

    traces = 0

    def train_step(self, data: Any) -> Any:
        self.traces += 1
        return super().train_step(data)

    def test_step(self, data: Any) -> Any:
        self.traces += 1
        return super().test_step(data)


def counting() -> tuple[Counting, ModelFunctions]:
    model = Counting(1.0)
    model(tf.constant(ROWS))
    model.compile("sgd", "mse")
    return model, ModelFunctions(model)


def test_a_trace_that_is_repeated_leaves_what_it_counted() -> None:
    model, traced = counting()
    fit(model)
    model.evaluate(ROWS, ANSWERS, batch_size=2, verbose=0)
    assert model.traces == 2
    traced.look()
    resumed, followed = counting()
    resumed.traces = model.traces
    followed.restore(traced.capture(), {}, traced.inputs())
    for each in (resumed, model):
        fit(each)
        each.evaluate(ROWS, ANSWERS, batch_size=2, verbose=0)
        assert each.traces == 2
        each.evaluate(ROWS, ANSWERS, batch_size=1, verbose=0)
        assert each.traces == 3


@pytest.mark.parametrize(("batch_sizes", "is_told"), [((2,), False), ((4,), True), ((2, 4), False)])
def test_other_inputs_than_those_that_nobody_knows_are_told(
    batch_sizes: tuple[int, ...], *, is_told: bool
) -> None:
    model, traced = compiled(1.0)
    fit(model)
    traced.look()
    resumed, followed = compiled(1.0)
    followed.restore(traced.capture(), {}, {})
    for batch_size in batch_sizes:
        resumed.fit(ROWS, ANSWERS, batch_size=batch_size, verbose=0)
    assert ("other inputs" in followed.look()) is is_told


class Watched:
    """Stands for a `fit` whose objects are watched."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.told: list[str] = []
        self.is_eager = True  # tables and variables have values then

    def state_of_script(self) -> dict[str, list[str]]:
        self.is_eager &= tf.executing_eagerly()
        return {"shapes": list(self._model.shapes), "other": []}

    def doubt(self, reason: str) -> None:
        self.told += [reason] if reason else []


class Listing(Weighted):
    """Keeps in a list what it was traced for."""

    def __init__(self, factor: Any) -> None:
        super().__init__(factor)
        self.shapes: list[str] = []

    def train_step(self, data: Any) -> Any:
        self.shapes.append(str(data[0].shape))
        return super().train_step(data)


def listing() -> tuple[Listing, ModelFunctions]:
    model = Listing(1.0)
    model.compile("sgd", "mse")
    return model, ModelFunctions(model)


def test_what_else_a_repeated_trace_changes_is_named() -> None:
    model, traced = listing()
    fit(model)
    traced.look()
    resumed, followed = listing()
    run = Watched(resumed)
    followed.restore(traced.capture(), {}, traced.inputs(), run)
    fit(resumed)
    assert {told.partition(" ")[0] for told in run.told} == {"shapes"}
    assert run.is_eager


def test_draws_of_the_input_are_not_those_of_the_training() -> None:
    """The pipeline's own level tells of them: with deterministic ops they are repeated."""
    model, functions = compiled(1.0)
    data = tf.data.Dataset.from_tensor_slices((ROWS, ANSWERS)).batch(2)
    data = data.map(lambda rows, answers: (rows + tf.random.uniform((2,)), answers))
    functions.begin([data])
    model.fit(data, shuffle=False, verbose=0)
    assert functions.look() == functions.draws == ""


class Marking(Weighted):
    """It marks a part of its step for XLA."""

    def call(self, rows: Any) -> Any:
        with tf.xla.experimental.jit_scope():
            return self.dense(rows)


def test_a_step_that_marks_parts_for_xla_is_named() -> None:
    for kind, start in ((Marking, "the training step marks"), (Weighted, "")):
        model = kind(1.0)
        model.compile("adam", "mse")
        functions = ModelFunctions(model)
        fit(model)
        functions.look()
        assert functions.compiled.startswith(start)
        assert bool(functions.compiled) is bool(start)
