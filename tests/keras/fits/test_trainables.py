"""Models in every format: what is written, read by TensorFlow and Keras, and begun with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from pitstop.engine.session.export_order import ExportOrder, NotExportable
from pitstop.engine.snapshots.weights_file import Format, WeightsUnusable
from pitstop.export import tensors_file
from pitstop.keras.fits.trainables import of_model, quiet
from pitstop.store.image import TensorSpec
from pitstop.tensorflow.variables.starting import begin_from
from pitstop.tensorflow.variables.trainables import GLOBAL_STEP, export

STEP = 9
NAMES = {
    Format.KERAS: "model.keras",
    Format.WEIGHTS_H5: "model.weights.h5",
    Format.SAVED_MODEL: "saved",
    Format.TF_CHECKPOINT: "checkpoints",
    Format.V1_SAVER: "v1",
}
WITH_OPTIMIZER = {Format.KERAS, Format.WEIGHTS_H5, Format.TF_CHECKPOINT, Format.V1_SAVER}
X = np.random.default_rng(1).normal(size=(16, 3)).astype("float32")
Y = X.sum(axis=1, keepdims=True)


class Tower(keras.Model):
    """A subclassed model with a nested one."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.units = units
        self.inner = keras.Sequential([keras.layers.Dense(units, name="deep")])
        self.norm = keras.layers.BatchNormalization()
        self.last = keras.layers.Dense(1)

    def get_config(self) -> dict[str, Any]:
        return {"units": self.units}

    def call(self, x: Any, training: bool = False) -> Any:
        return self.last(self.norm(self.inner(x), training=training))


def functional(units: int = 4) -> Any:
    layers = [keras.layers.Dense(units, name="a"), keras.layers.Dropout(0.3)]
    return keras.Sequential([keras.Input((3,)), *layers, keras.layers.Dense(1, name="b")])


def tower(units: int = 4) -> Any:
    return Tower(units)


def built(make: Callable[..., Any], seed: int, units: int = 4) -> Any:
    keras.utils.clear_session()
    keras.utils.set_random_seed(seed)
    model = make(units)
    model.compile(keras.optimizers.Adam(0.01 * seed), "mse")
    model(X)
    model.optimizer.build(model.trainable_variables)
    return model


def trained(make: Callable[..., Any], seed: int) -> Any:
    model = built(make, seed)
    model.run_eagerly = True  # Two steps: a graph of them would take longer to make.
    model.fit(X, Y, epochs=2, verbose=0)
    return model


def values(variables: Any) -> list[bytes]:
    return [np.asarray(each).tobytes() for each in variables]


@pytest.mark.parametrize("make", [functional, tower])
@pytest.mark.parametrize("form", NAMES)
def test_a_model_begins_with_what_another_was_exported_as(
    make: Callable[..., Any], form: Format, tmp_path: Path
) -> None:
    model = trained(make, 1)
    out = tmp_path / NAMES[form]
    export(ExportOrder(form, out), of_model(model), STEP)
    other = built(make, 2)
    assert values(other.weights) != values(model.weights)
    begun = begin_from(str(out), of_model(other))
    assert values(other.weights) == values(model.weights)
    assert begun.weights == len(model.weights)
    slots = form in WITH_OPTIMIZER
    assert (values(other.optimizer.variables) == values(model.optimizer.variables)) == slots
    assert (begun.optimizer > 0) == slots


def test_a_checkpoint_is_the_newest_of_its_folder(tmp_path: Path) -> None:
    model = trained(functional, 1)
    out = tmp_path / "checkpoints"
    export(ExportOrder(Format.TF_CHECKPOINT, out), of_model(model), STEP)
    moved = out.rename(tmp_path / "moved")
    newest = tf.train.latest_checkpoint(str(moved))
    assert newest == str(moved / f"ckpt-{STEP}")
    other = built(functional, 2)
    checkpoint = tf.train.Checkpoint(model=other, optimizer=other.optimizer)
    manager = tf.train.CheckpointManager(checkpoint, str(moved), max_to_keep=3)
    checkpoint.restore(manager.latest_checkpoint).assert_existing_objects_matched()
    assert values(other.weights) == values(model.weights)
    assert values(other.optimizer.variables) == values(model.optimizer.variables)


def test_v1_programs_restore_by_name(tmp_path: Path) -> None:
    model = trained(functional, 1)
    out = tmp_path / "v1"
    export(ExportOrder(Format.V1_SAVER, out), of_model(model), STEP)
    prefix = tf.train.latest_checkpoint(str(out.rename(tmp_path / "moved")))
    v1 = tf.compat.v1
    names = [each.path for each in model.weights]
    with tf.Graph().as_default(), v1.Session() as session:
        variables = [
            v1.get_variable(each.path, each.shape, each.dtype, use_resource=True)
            for each in model.weights
        ]
        step = v1.get_variable(GLOBAL_STEP, (), tf.int64)
        v1.train.Saver([*variables, step]).restore(session, prefix)
        found = session.run({each.op.name: each for each in variables})
        assert session.run(step) == STEP
    assert [found[name].tobytes() for name in names] == values(model.weights)


def test_safetensors_of_ours_are_begun_with(tmp_path: Path) -> None:
    model = trained(functional, 1)
    out = tmp_path / "model.safetensors"
    named = of_model(model).variables
    tensors = [
        tensors_file.ExportedTensor(
            TensorSpec(each.name, _code(each.variable), tuple(each.variable.shape)),
            memoryview(each.variable.numpy().tobytes()),
        )
        for each in named
    ]
    tensors_file.write(out, tensors, {})
    other = built(functional, 2)
    begun = begin_from(str(out), of_model(other))
    assert values(other.weights) == values(model.weights)
    assert begun.optimizer == len(model.optimizer.variables)


def _code(variable: Any) -> str:
    return "I64" if variable.dtype == tf.int64 else ("I32" if variable.dtype == tf.int32 else "F32")


@pytest.mark.parametrize("form", NAMES)
def test_another_shape_is_refused(form: Format, tmp_path: Path) -> None:
    out = tmp_path / NAMES[form]
    export(ExportOrder(form, out), of_model(trained(functional, 1)), STEP)
    wider = built(functional, 2, units=5)
    with pytest.raises(WeightsUnusable, match=r"does not fit the script's model"):
        begin_from(str(out), of_model(wider))


def test_the_first_tensors_that_do_not_fit_are_named(tmp_path: Path) -> None:
    out = tmp_path / "v1"
    export(ExportOrder(Format.V1_SAVER, out), of_model(trained(functional, 1)), STEP)
    wider = built(functional, 2, units=5)
    with pytest.raises(WeightsUnusable) as refused:
        begin_from(str(out), of_model(wider))
    assert "a/kernel is float32[3, 5], and float32[3, 4] in it" in refused.value.message


def test_an_optimizer_of_another_kind_is_new(tmp_path: Path) -> None:
    model = trained(functional, 1)
    for form in WITH_OPTIMIZER:
        out = tmp_path / NAMES[form]
        export(ExportOrder(form, out), of_model(model), STEP)
        other = built(functional, 2)
        other.compile(keras.optimizers.RMSprop(0.5), "mse")
        other.optimizer.build(other.trainable_variables)
        before = values(other.optimizer.variables)
        begun = begin_from(str(out), of_model(other))
        assert begun.optimizer == 0, form
        assert values(other.weights) == values(model.weights)
        assert values(other.optimizer.variables) == before, form


def test_a_checkpoint_of_the_model_under_any_name_is_begun_with(tmp_path: Path) -> None:
    model = trained(functional, 1)
    for name, checkpoint in {
        "root": tf.train.Checkpoint(model),
        "named": tf.train.Checkpoint(net=model),
    }.items():
        prefix = checkpoint.write(str(tmp_path / name))
        other = built(functional, 2)
        begun = begin_from(prefix, of_model(other))
        assert values(other.weights) == values(model.weights), name
        # A compiled model has its optimizer as a part.
        assert begun.optimizer == len(model.optimizer.variables), name
        assert values(other.optimizer.variables) == values(model.optimizer.variables), name


def test_a_model_without_variables_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "model.weights.h5"
    trained(tower, 1).save_weights(out)
    unbuilt = Tower(4)
    unbuilt.compile("adam", "mse")
    with pytest.raises(WeightsUnusable, match="before its first step"):
        begin_from(str(out), of_model(unbuilt))


def test_damaged_files_are_named(tmp_path: Path) -> None:
    model = built(functional, 1)
    torn = tmp_path / "torn.safetensors"
    torn.write_bytes(b"\x10\0\0\0\0\0\0\0{")
    with pytest.raises(WeightsUnusable, match="damaged"):
        begin_from(str(torn), of_model(model))
    (tmp_path / "torn.index").write_bytes(b"nothing")
    with pytest.raises(WeightsUnusable, match="cannot be read"):
        begin_from(str(tmp_path / "torn"), of_model(model))
    (tmp_path / "torn.keras").write_bytes(b"nothing")
    with pytest.raises(WeightsUnusable, match="does not fit"):
        begin_from(str(tmp_path / "torn.keras"), of_model(model))


def test_two_models_do_not_go_into_one_file(tmp_path: Path) -> None:
    trainables = of_model(built(functional, 1))
    both = {**trainables.models, "critic": built(functional, 2)}
    two = type(trainables)(both, both, trainables.weights)
    with pytest.raises(NotExportable, match="model, critic"):
        export(ExportOrder(Format.KERAS, tmp_path / "two.keras"), two, STEP)


def test_tensorboard_begins_no_file_when_a_fit_is_exported(tmp_path: Path) -> None:
    callback = keras.callbacks.TensorBoard(tmp_path / "events", profile_batch=0)
    quiet([callback])
    callback.set_model(built(functional, 1))
    assert not (tmp_path / "events").exists()
