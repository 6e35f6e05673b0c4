"""A fit of Keras 2 whose callback builds the optimizer, then one of another model.

It fails between the two until there is a file `repaired`.
"""

from __future__ import annotations

import os
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf

keras = tf.keras
keras.utils.set_random_seed(3)
random = np.random.default_rng(0)
rows, labels = random.random((64, 8)), random.random((64, 1))


def compiled() -> keras.Model:
    model = keras.Sequential([keras.layers.Dense(4, input_shape=(8,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.01, momentum=0.9), "mse", metrics=["mae"])
    return model


first, second = compiled(), compiled()
history = first.fit(
    rows, labels, epochs=3, callbacks=[keras.callbacks.BackupAndRestore("backup")], verbose=0
)
print("first", history.history, [float(each.result()) for each in first.metrics], flush=True)
if not Path("repaired").exists():
    raise RuntimeError("not repaired")
print("again", first.evaluate(rows, labels, verbose=0), flush=True)
print("second", second.fit(rows, labels, epochs=2, verbose=0).history, flush=True)
