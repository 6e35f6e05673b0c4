"""A pipeline that keeps its elements in files; what comes before them is used again later.

`keeps_elements.py OUT [cache | snapshot | code | both]`
"""

import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

out, form = sys.argv[1:]
keras.utils.set_random_seed(1)
x = np.random.default_rng(0).normal(size=(80, 4)).astype("float32")
rng = np.random.default_rng(2)


def noisy(row: np.ndarray) -> np.ndarray:
    return (row + rng.normal(0, 0.1, row.shape)).astype("float32")


def drawn(row: tf.Tensor) -> tf.Tensor:
    return tf.ensure_shape(tf.numpy_function(noisy, [row], tf.float32), [4])


rows = tf.data.Dataset.from_tensor_slices(x)
rows = rows.map(drawn) if form == "code" else rows.shuffle(80, seed=1)
first = rows.cache(f"{out}.first").shuffle(80, seed=3) if form == "both" else rows
is_snapshot = form in {"snapshot", "both"}
kept = first.snapshot(f"{out}.kept") if is_snapshot else first.cache(f"{out}.kept")
model = keras.Sequential([keras.layers.Dense(2), keras.layers.Dense(1)])
model.compile("sgd", "mse")
losses = []
for dataset in (first, kept, first, rows) if form == "both" else (kept, rows):
    batches = dataset.batch(8).map(lambda each: (each, each[:, :1]))
    losses += model.fit(batches, epochs=2, verbose=0).history["loss"]
Path(out).write_text(f"{losses} {rng.random() if form == 'code' else ''}")
