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
    keras.utils.clear_session()  # which counts the names of layers
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
    model = built(kind, x)
    variables = [*model.weights, *model.optimizer.variables]
    saver = tf.compat.v1.train.Saver({each.path: each.value for each in variables})
    saver.restore(None, tf.train.latest_checkpoint(path))
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
