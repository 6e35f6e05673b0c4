"""Loads exports without Pitstop: `loads_export.py MODEL FOLDER FORMAT=NAME...`.

Writes what it finds in the file NAME to FOLDER/FORMAT.npz: the model's weights and the
optimizer's variables by path, in their order, and the predictions.
"""

import sys
from pathlib import Path

import export_models
import keras
import numpy as np
import tensorflow as tf


def built(kind, x):
    model = export_models.build(kind)
    model(x)
    model.optimizer.build(model.trainable_variables)
    return model


def load_checkpoint(path, kind, x):
    model = built(kind, x)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=model.optimizer)
    checkpoint.restore(tf.train.latest_checkpoint(path)).assert_existing_objects_matched()
    return model


def load_h5(path, kind, x):
    model = built(kind, x)
    model.load_weights(path)
    return model


def load_v1(path, kind, x):
    """Restores by name, with the names that a checkpoint of a model built alike has."""
    prefix = tf.train.latest_checkpoint(path)
    model = load_checkpoint(str(Path(path).with_name("checkpoints")), kind, x)
    known = [name for name, _ in tf.train.list_variables(prefix)]
    named = {
        next(name for name in known if name.endswith(each.path)): each
        for each in [*model.weights, *model.optimizer.variables]
    }
    for each in named.values():
        each.assign(tf.zeros_like(each))
    saver = tf.compat.v1.train.Saver({name: each.value for name, each in named.items()})
    saver.restore(None, prefix)
    return model


def values_of(form, path, kind, x):
    if form == "saved_model":
        loaded = tf.saved_model.load(path)
        serve = loaded.signatures["serving_default"]
        return {"predictions": serve(tf.constant(x))["output_0"].numpy()}
    loaders = {"tf_checkpoint": load_checkpoint, "weights_h5": load_h5, "v1_saver": load_v1}
    model = keras.models.load_model(path) if form == "keras" else loaders[form](path, kind, x)
    values = {each.path: each.numpy() for each in [*model.weights, *model.optimizer.variables]}
    return {**values, "predictions": model.predict(x, verbose=0)}


def main():
    kind, folder, *wanted = sys.argv[1:]
    x, _ = export_models.data()
    for form, _, name in (each.partition("=") for each in wanted):
        found = values_of(form, str(Path(folder) / name), kind, x)
        np.savez(Path(folder) / f"{form}.npz", **found)
    assert "pitstop" not in sys.modules


if __name__ == "__main__":
    main()
