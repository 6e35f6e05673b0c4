"""What a `fit` is, where the script's own classes tell less than those of Keras."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from pitstop.keras.fits.fit_identity import (
    architecture_of,
    is_digested,
    moving_settings_of,
    reached_by,
    stage_values,
)
from pitstop.link.settings import ENV_MIXED_PRECISION, MIXED_PRECISION


class Warmup(keras.optimizers.schedules.LearningRateSchedule):
    """As tutorials write it: without `get_config`."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __call__(self, step: Any) -> Any:
        return self.rate / (1.0 + keras.ops.cast(step, "float32"))


def _settings(rate: float, momentum: float = 0.9) -> dict[str, str]:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(Warmup(rate), momentum=momentum), "mse")
    return moving_settings_of(model, [])


def _read_by(seed: int) -> tuple[str, list[str]]:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    arguments = {"x": tf.data.Dataset.range(9).shuffle(4, seed=seed).batch(3)}
    return reached_by(model, arguments)[0], stage_values(arguments, seeds=False)


def test_a_log_that_a_callback_has_closed_is_no_setting(tmp_path: Path) -> None:
    """A process that skips the training before has not opened it."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    used, other = (keras.callbacks.CSVLogger(tmp_path / "log.csv") for _ in range(2))
    used.on_train_begin()
    used.on_train_end()
    # What a resume restores of it.
    other.keys, other.append_header = used.keys, used.append_header
    assert moving_settings_of(model, [used]) == moving_settings_of(model, [other])


def test_the_seed_of_a_shuffle_is_read_and_is_no_part_of_the_data() -> None:
    assert _read_by(1) == _read_by(1)
    assert _read_by(1)[0] != _read_by(2)[0]
    assert _read_by(1)[1] == _read_by(2)[1] != []


def test_data_is_digested_unless_hidden_state_makes_it() -> None:
    layer, table = (
        keras.layers.RandomFlip(seed=1),
        tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, default_value=0),
    )
    images = tf.data.Dataset.from_tensor_slices(np.ones((4, 4, 4, 3), "float32"))

    def digested(function: Any) -> bool:
        return is_digested({"x": images.map(function)})

    assert digested(lambda each: tf.image.resize_with_crop_or_pad(each, 6, 6))
    assert digested(lambda each: layer(each, training=True))
    assert digested(
        lambda each: tf.cond(tf.reduce_sum(each) > 0, lambda: layer(each), lambda: each)
    )
    assert not digested(lambda each: tf.numpy_function(np.abs, [each], tf.float32))
    assert not digested(lambda each: each + tf.random.normal([3]))
    assert not digested(lambda each: tf.cast(table.lookup(tf.cast(each, tf.int64)), tf.float32))


class Rows(keras.utils.PyDataset):
    """Holds what the test gives it."""

    def __init__(self, held: Any) -> None:
        super().__init__()
        self.held = held


def test_a_sequence_is_digested_where_it_holds_nothing_but_data() -> None:
    def digested(held: Any) -> bool:
        return is_digested({"x": Rows(held)})

    assert digested(np.arange(3))
    assert digested([1, 2])
    # What a generator draws next, what a file holds, or what a function returns is not data.
    assert not digested(np.random.default_rng(1))
    assert not digested("/data/rows.npy")
    assert not digested(lambda: 1)


def test_the_state_that_a_pipeline_draws_from_is_read() -> None:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    stream = tf.random.Generator.from_seed(1)
    drawn = tf.data.Dataset.range(4).map(lambda _: stream.normal([2]))
    before = reached_by(model, {"x": drawn})
    assert before == reached_by(model, {"x": drawn})
    stream.normal([1])
    assert before != reached_by(model, {"x": drawn})


def test_a_schedule_that_has_no_configuration_is_known_by_what_it_holds() -> None:
    assert _settings(0.1) == _settings(0.1)
    differs = [name for name, each in _settings(0.2).items() if each != _settings(0.1)[name]]
    assert differs == ["learning_rate"]
    assert _settings(0.1, 0.5)["momentum"] != _settings(0.1)["momentum"]


@pytest.mark.parametrize("name", ["keras", "tf_keras"])
def test_a_functional_model_of_a_class_of_the_script_is_known_again(name: str) -> None:
    package = pytest.importorskip(name)

    class Own(package.Model):  # type: ignore[name-defined]
        def call(self, x: Any, training: Any = None, mask: Any = None) -> Any:
            return super().call(x, training=training, mask=mask)

    models = []

    def made() -> dict[str, str]:
        inputs = package.Input((3,))
        models.append(Own(inputs, package.layers.Dense(2)(inputs)))
        return architecture_of(models[-1])

    # Keras keeps numbers of objects in it, which are other ones for each.
    assert made() == made()


@pytest.mark.parametrize("name", ["keras", "tf_keras"])
def test_a_precision_that_pitstop_has_lowered_is_no_other_architecture(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = pytest.importorskip(name)
    set_policy = package.mixed_precision.set_global_policy

    def functional() -> dict[str, str]:
        inputs = package.Input((4,))
        hidden = package.layers.Dense(3, activation="relu")(inputs)
        model = package.Model(inputs, package.layers.Dense(1)(hidden))
        model.compile("sgd", "mse")
        return architecture_of(model)

    plain = functional()
    set_policy(MIXED_PRECISION)
    try:
        of_the_script = functional()
        monkeypatch.setenv(ENV_MIXED_PRECISION, "1")
        assert functional() == plain != of_the_script
    finally:
        set_policy("float32")


@pytest.mark.parametrize("name", ["keras", "tf_keras"])
def test_what_methods_of_keras_leave_in_a_model_is_no_other_architecture(name: str) -> None:
    package = pytest.importorskip(name)

    class Own(package.Sequential):  # type: ignore[name-defined]
        pass

    model = Own([package.Input((3,)), package.layers.Dense(1)])
    model.compile("sgd", "mse")
    x, y = np.zeros((4, 3)), np.zeros((4, 1))
    model.fit(x, y, verbose=0)
    before = architecture_of(model)
    model.evaluate(x, y, verbose=0)
    model.predict(x, verbose=0)
    assert architecture_of(model) == before
    model.gain = 2.0
    assert architecture_of(model) != before


@pytest.mark.parametrize("name", ["keras", "tf_keras"])
def test_layers_that_were_made_with_other_values_are_another_architecture(name: str) -> None:
    package = pytest.importorskip(name)

    def functional(activation: str, rate: float) -> dict[str, str]:
        inputs = package.Input((4,))
        hidden = package.layers.Dropout(rate)(package.layers.Dense(3, activation)(inputs))
        return architecture_of(package.Model(inputs, package.layers.Dense(1)(hidden)))

    assert functional("relu", 0.1) == functional("relu", 0.1)
    assert functional("relu", 0.1) != functional("tanh", 0.1)
    assert functional("relu", 0.1) != functional("relu", 0.2)


def test_what_a_trace_leaves_in_a_layer_is_no_other_architecture() -> None:
    class Own(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.last: Any = None
            self.each: list[Any] = []

        def call(self, x: Any) -> Any:
            self.last = x
            self.each = [x]
            return x

    model = keras.Sequential([Own(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.build((None, 3))
    traced = architecture_of(model)
    model.layers[0].last, model.layers[0].each = None, []
    assert architecture_of(model) == traced
    model.layers[0].last = 2.0
    assert architecture_of(model) != traced


def test_the_size_of_the_first_batches_is_no_part_of_the_layers() -> None:
    def layers(*batch_shape: int | None) -> str:
        model = keras.Sequential([keras.Input(batch_shape=batch_shape), keras.layers.Dropout(0.5)])
        model.compile("sgd", "mse")
        return architecture_of(model)["layers"]

    assert layers(None, 2) == layers(8, 2) == layers(16, 2) != layers(8, 3)
