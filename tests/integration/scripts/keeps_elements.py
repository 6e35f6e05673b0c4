"""A pipeline that keeps its elements in files; what comes before them is used again later.

`keeps_elements.py OUT [cache | snapshot | code | both | saved | counted] [early | begin] [alone]`

`early`: it is read before the first training; `begin`: as the first training begins; `alone`:
nothing else reads what comes before the files; `dies`: once, as the first epoch ends; `saved`: by
`Dataset.save`, once for all attempts; `counted`: a number of rows is kept in a file.
"""

import os
import signal
import sys
from collections import deque
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

out, form, *words = sys.argv[1:]
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
if form == "saved":
    if not Path(f"{out}.kept").exists():
        rows.save(f"{out}.kept")
    kept = tf.data.Dataset.load(f"{out}.kept")
if "alone" in words:
    rows = first = kept
if form == "counted":
    kept = rows
    if not Path(f"{out}.count").exists():
        Path(f"{out}.count").write_text(str(len(list(rows))))


class Reads(keras.callbacks.Callback):
    def on_train_begin(self, logs=None) -> None:
        deque(kept, 0)


class Dies(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None) -> None:
        if not Path(f"{out}.died").exists():
            Path(f"{out}.died").touch()
            os.kill(os.getpid(), signal.SIGKILL)


if "early" in words:
    deque(kept, 0)
model = keras.Sequential([keras.layers.Dense(2), keras.layers.Dense(1)])
model.compile("sgd", "mse")
losses = []
trained = [first, kept, first, rows] if form == "both" else [kept, rows]
for dataset in trained:
    batches = dataset.batch(8).map(lambda each: (each, each[:, :1]))
    callbacks = [Reads()] if "begin" in words and not losses else []
    callbacks += [Dies()] if "dies" in words else []
    losses += model.fit(batches, epochs=2, verbose=0, callbacks=callbacks).history["loss"]
Path(out).write_text(f"{losses} {rng.random() if form == 'code' else ''}")
