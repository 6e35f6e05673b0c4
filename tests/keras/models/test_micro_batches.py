"""Steps in parts: the same step up to rounding, or the reason why not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from pitstop.events import Event, Notice
from pitstop.keras import private
from pitstop.keras.models import micro_batches
from pitstop.keras.models.micro_batches import divide_steps
from pitstop.link.settings import Settings

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(50, 6)).astype("float32")
Y = (X.sum(1, keepdims=True) > 0).astype("float32")


class Reports:
    def __init__(self) -> None:
        self.settings = Settings()
        self.events: list[Event] = []

    def report(self, event: Event) -> None:
        self.events.append(event)


@pytest.fixture
def in_parts() -> Iterator[Callable[[int], Reports]]:
    """Divides the steps of all trainings of the test, and reports what it is told."""
    original = private.TensorFlowTrainer.train_step
    reports = Reports()

    def divide(parts: int) -> Reports:
        reports.settings = Settings(batch_parts=parts)
        divide_steps(reports)  # type: ignore[arg-type]
        return reports

    yield divide
    private.TensorFlowTrainer.train_step = original


def _model(**compiled: Any) -> Any:
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((6,)),
            keras.layers.Dense(8, activation="tanh", kernel_regularizer="l2"),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(
        **{"optimizer": "adam", "loss": "binary_crossentropy", "metrics": ["accuracy"], **compiled}
    )
    return model


def _trained(model: Any, **arguments: Any) -> tuple[dict[str, Any], list[Any]]:
    # 50 records in batches of 16: the last one has 2.
    history = model.fit(X, Y, batch_size=16, epochs=3, shuffle=False, verbose=0, **arguments)
    return history.history, model.get_weights()


def _assert_close(one: Any, other: Any) -> None:
    assert one[0].keys() == other[0].keys()
    for name, values in one[0].items():
        np.testing.assert_allclose(values, other[0][name], rtol=1e-5, err_msg=name)
    for here, there in zip(one[1], other[1], strict=True):
        np.testing.assert_allclose(here, there, rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("parts", [2, 3, 64])
def test_history_and_weights_are_those_of_whole_steps(
    in_parts: Callable[[int], Reports], parts: int
) -> None:
    expected = _trained(_model())
    reports = in_parts(parts)
    _assert_close(_trained(_model()), expected)
    assert not reports.events


@pytest.mark.parametrize(
    "compiled",
    [
        {"optimizer": "sgd", "run_eagerly": True},
        {"steps_per_execution": 2},
        {"jit_compile": True},
        {"loss": keras.losses.MeanSquaredError(), "weighted_metrics": ["mae"]},
        {"optimizer": keras.optimizers.SGD(0.1, momentum=0.9)},
    ],
    ids=["eager", "two-steps-a-call", "xla", "weighted", "momentum"],
)
def test_however_the_model_is_compiled(
    in_parts: Callable[[int], Reports], compiled: dict[str, Any]
) -> None:
    weights = {"sample_weight": np.linspace(0.1, 2, 50)} if "weighted_metrics" in compiled else {}
    optimizer = compiled.get("optimizer", "adam")

    def anew() -> dict[str, Any]:
        fresh = (
            optimizer
            if isinstance(optimizer, str)
            else optimizer.from_config(optimizer.get_config())
        )
        return {**compiled, "optimizer": fresh}

    expected = _trained(_model(**anew()), **weights)
    reports = in_parts(3)
    _assert_close(_trained(_model(**anew()), **weights), expected)
    assert not reports.events


def test_batches_of_unknown_size_and_structure(in_parts: Callable[[int], Reports]) -> None:
    def trained() -> list[Any]:
        keras.utils.set_random_seed(1)
        one, other = keras.Input((2,), name="one"), keras.Input((6,), name="other")
        output = keras.layers.Dense(1)(keras.layers.Concatenate()([one, other]))
        model = keras.Model({"one": one, "other": other}, output)
        model.compile("adam", "mse")
        data = tf.data.Dataset.from_tensor_slices(({"one": X[:, :2], "other": X}, Y))
        model.fit(data.batch(16), epochs=2, shuffle=False, verbose=0)
        weights: list[Any] = model.get_weights()
        return weights

    expected = trained()
    reports = in_parts(4)
    for here, there in zip(trained(), expected, strict=True):
        np.testing.assert_allclose(here, there, rtol=2e-4, atol=1e-6)
    assert not reports.events


def _own_loss() -> Any:
    class Own(keras.Sequential):
        def compute_loss(self, x: Any, y: Any, y_pred: Any, *_: Any, **__: Any) -> Any:
            return tf.reduce_sum((y - y_pred) ** 2)

    return Own([keras.Input((6,)), keras.layers.Dense(1)])


def _own_step() -> Any:
    class Own(keras.Sequential):
        def train_step(self, data: Any) -> Any:
            return super().train_step(data)

    return Own([keras.Input((6,)), keras.layers.Dense(1)])


def _masked() -> Any:
    words = keras.Input((6,))
    hidden = keras.layers.Embedding(9, 2, mask_zero=True)(words)
    return keras.Model(words, hidden)


def _embedding() -> Any:
    embedding = keras.layers.Embedding(9, 1)
    return keras.Sequential(
        [keras.Input((6,)), embedding, keras.layers.Flatten(), keras.layers.Dense(1)]
    )


def _sum(truth: Any, output: Any) -> Any:
    return tf.reduce_sum(tf.square(truth - output))


def _centred(truth: Any, output: Any) -> Any:
    return tf.square(truth - output - tf.reduce_mean(truth - output))


class AddsSum(keras.layers.Layer):
    def call(self, values: Any) -> Any:
        self.add_loss(1e-9 * tf.reduce_sum(tf.square(values)))
        return values


def _adds_sum() -> Any:
    return keras.Sequential([keras.Input((6,)), AddsSum(), keras.layers.Dense(1)])


def _mixes_records() -> Any:
    inputs = keras.Input((6,))
    centred = inputs - keras.ops.mean(inputs, axis=0, keepdims=True)
    return keras.Model(inputs, keras.layers.Dense(1)(centred))


def _of_known_batches() -> Any:
    inputs = keras.Input(batch_shape=(50, 6))
    return keras.Model(inputs, keras.layers.Dense(1)(keras.ops.reshape(inputs, (50, 6))))


@pytest.mark.parametrize(
    ("model", "loss", "reason"),
    [
        (_model, _sum, "not a mean over records"),
        (_model, _centred, "not a mean over records"),
        (_adds_sum, "mse", "not a mean over records"),
        (_mixes_records, "mse", "not a mean over records"),
        (_of_known_batches, "mse", "cannot be tried (InvalidArgumentError)"),
        (_own_step, "mse", "train_step is custom"),
        (_own_loss, "mse", "compute_loss is custom"),
        (_model, keras.losses.MeanSquaredError(reduction="sum"), "reduced by 'sum'"),
        (_masked, "mse", "mask"),
        (_embedding, "mse", "sparse"),
    ],
)
def test_what_would_mean_something_else_stays_whole_and_is_told_of_once(
    in_parts: Callable[[int], Reports], model: Callable[[], Any], loss: Any, reason: str
) -> None:
    built = model()
    built.compile("sgd", loss)
    reports = in_parts(2)
    built.fit(np.abs(X), np.zeros((50, *built.output_shape[1:])), batch_size=50, verbose=0)
    micro_batches.begin_fit(reports, built)  # type: ignore[arg-type]
    (told,) = reports.events
    assert isinstance(told, Notice)
    assert (told.code, reason in told.message) == ("batch_not_divided", True)


def test_a_step_that_stays_whole_is_the_same_step(in_parts: Callable[[int], Reports]) -> None:
    loss = keras.losses.MeanSquaredError(reduction="sum")
    expected = _trained(_model(loss=loss))
    in_parts(2)
    history, weights = _trained(_model(loss=loss))
    assert history == expected[0]
    assert all(map(np.array_equal, weights, expected[1]))


def _doubt(model: Any) -> str:
    reports = Reports()
    reports.settings = Settings(batch_parts=2)
    return micro_batches.begin_fit(reports, model)  # type: ignore[arg-type]


def _normalized() -> Any:
    keras.utils.set_random_seed(1)
    norm = keras.layers.BatchNormalization(momentum=0.9)
    model = keras.Sequential([keras.Input((6,)), norm, keras.layers.Dense(1)])
    model.compile("adam", "mse")
    return model


@pytest.mark.parametrize("jit", [False, True])
def test_parts_move_the_averages_of_a_batch_normalization_as_far_as_a_step(
    in_parts: Callable[[int], Reports], *, jit: bool
) -> None:
    # Both halves of a batch have the same statistics.
    x, y = np.concatenate([X[:8], X[:8]]), np.concatenate([Y[:8], Y[:8]])
    trained = []
    for parts in (1, 2):
        if parts > 1:
            in_parts(parts)
        model = _normalized()
        model.jit_compile = jit
        history = model.fit(x, y, batch_size=16, epochs=5, shuffle=False, verbose=0)
        assert model.layers[0].momentum == 0.9
        trained.append((history.history, model.get_weights()))
    _assert_close(*trained)


def test_a_batch_normalization_stays_whole_where_the_user_says_so() -> None:
    reports = Reports()
    reports.settings = Settings(batch_parts=2, batch_norm="stop")
    assert not micro_batches.begin_fit(reports, _normalized())  # type: ignore[arg-type]
    (told,) = reports.events
    assert isinstance(told, Notice)
    assert "it has BatchNormalization" in told.message
    assert micro_batches.begin_fit(reports, _model())  # type: ignore[arg-type]


def test_layers_that_parts_change_are_named() -> None:
    model = keras.Sequential(
        [keras.Input((6,)), keras.layers.BatchNormalization(), keras.layers.Dropout(0.5)]
    )
    said = _doubt(model)
    assert "BatchNormalization uses the statistics of each part" in said
    assert "Dropout draws new random" in said
    assert "AddsSum is of the script" in _doubt(_adds_sum())
    assert _doubt(_model()).endswith("equal up to rounding")


def _unexplained(truth: Any, output: Any) -> Any:
    return tf.reduce_sum((truth - output) ** 2) / tf.reduce_sum(
        (truth - tf.reduce_mean(truth)) ** 2
    )


def test_a_metric_of_whole_batches_is_named(in_parts: Callable[[int], Reports]) -> None:
    model = _model(metrics=["accuracy", "AUC", _unexplained])
    reports = in_parts(2)
    model.fit(X, Y, batch_size=25, shuffle=False, verbose=0)
    (told,) = reports.events
    assert isinstance(told, Notice)
    assert told.message.endswith("parts of the batch: _unexplained.")


def _counting() -> Any:
    class Counts(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.count = self.add_weight(shape=(), initializer="zeros", trainable=False)

        def call(self, values: Any) -> Any:
            self.count.assign_add(1.0)
            return values

    keras.utils.set_random_seed(1)
    layers = [keras.Input((None, 6)), keras.layers.GlobalMaxPooling1D(), Counts()]
    return keras.Sequential([*layers, keras.layers.Dense(1)])


def test_the_trial_of_a_model_leaves_no_trace(in_parts: Callable[[int], Reports]) -> None:
    model = _counting()
    model.compile("sgd", lambda truth, output: tf.abs(truth - output), metrics=["mae"])
    reports = in_parts(2)
    data = tf.data.Dataset.from_tensor_slices((X[:, None, :], Y)).batch(25)
    history = model.fit(data, epochs=2, shuffle=False, verbose=0).history
    assert not reports.events
    assert float(model.layers[1].count) == 8  # four steps of two parts
    assert history["mae"] == pytest.approx(history["loss"])
