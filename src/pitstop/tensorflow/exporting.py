"""Writes what a script trains in the formats of TensorFlow and Keras."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

from pitstop.engine.export_order import ExportOrder, NotExportable
from pitstop.engine.weights_file import Format
from pitstop.tensorflow.trainables import Trainables

GLOBAL_STEP = "global_step"
"""The name under which v1 programs keep the number of steps."""

_V1_NAME = "model.ckpt"


def export(order: ExportOrder, trainables: Trainables, step: int) -> None:
    """Writes the present values; `step` stands in names and in v1 files.

    Raises `NotExportable` where there is nothing that the format could hold.
    """
    path = order.path
    match order.format:
        case Format.KERAS:
            _only_model(trainables, "save").save(str(path))
        case Format.WEIGHTS_H5:
            _only_model(trainables, "save_weights").save_weights(str(path))
        case Format.SAVED_MODEL:
            model = _only_model(trainables)
            if hasattr(model, "export"):
                model.export(str(path), verbose=False)
            else:
                tf.saved_model.save(model, str(path))
        case Format.TF_CHECKPOINT:
            _write_checkpoint(trainables, path, step)
        case Format.V1_SAVER:
            _write_v1(trainables, path, step)


def _write_checkpoint(trainables: Trainables, path: Path, step: int) -> None:
    if not trainables.objects:
        raise NotExportable("The script names no object that tf.train.Checkpoint can store.", _SAFE)
    checkpoint = tf.train.Checkpoint(**trainables.objects)
    manager = tf.train.CheckpointManager(checkpoint, str(path), max_to_keep=None)
    manager.save(checkpoint_number=step)


def _write_v1(trainables: Trainables, path: Path, step: int) -> None:
    variables = {each.name: each.variable for each in trainables.variables}
    if not variables:
        raise NotExportable("The script names no variables.", _SAFE)
    variables.setdefault(GLOBAL_STEP, tf.Variable(step, dtype=tf.int64, trainable=False))
    save_v1(relative_saver(variables), None, path, step)


def relative_saver(variables: Any) -> Any:
    """A v1 Saver whose `checkpoint` file stays true when its folder is renamed."""
    return tf.compat.v1.train.Saver(variables, save_relative_paths=True)


def save_v1(saver: Any, session: Any, folder: Path, step: int) -> None:
    """Writes `folder/model.ckpt-STEP` and the folder's `checkpoint` file.

    The session is None for eager variables, and the folder is not there yet.
    """
    folder.mkdir()
    saver.save(session, str(folder / _V1_NAME), global_step=step, write_meta_graph=False)


_SAFE = "Every run can be exported with `--to safetensors`."


def _only_model(trainables: Trainables, method: str = "") -> Any:
    named = trainables.models.items()
    models = {name: each for name, each in named if not method or hasattr(each, method)}
    if len(models) == 1:
        return next(iter(models.values()))
    found = f"{len(models)} models ({', '.join(models)})" if models else "no such model"
    raise NotExportable(
        f"This format stores one model, but the script names {found}.",
        "Use `--to tf_checkpoint`, which stores all objects, or `--to safetensors`.",
    )
