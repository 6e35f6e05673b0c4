"""Trains three times; each time and each step it appends a line to a file that it closes again.

One of these files gets its header when the script begins.

It also keeps two logs with the time of day in each line; one of them begins anew. What a training
prints goes to a file of its own.
"""

import contextlib
import json
import logging
from pathlib import Path

import keras
import numpy as np

logging.basicConfig(
    handlers=[logging.FileHandler("all.log"), logging.FileHandler("latest.log", mode="w")],
    level=logging.INFO,
    format="%(asctime)s %(levelname)s %(message)s",
)
logging.info("started")
Path("steps.csv").write_text("batch,loss\n")
keras.utils.set_random_seed(7)
x = np.random.default_rng(0).normal(size=(160, 4)).astype("float32")


class Logs(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        with Path("batches.txt").open("a") as file:
            file.write(f"{batch} {logs['loss']}\n")
        with Path("steps.csv").open("a") as file:
            file.write(f"{batch},{logs['loss']}\n")
        logging.info("batch %d: loss %s", batch, logs["loss"])

    def on_epoch_end(self, epoch, logs=None):
        print(epoch, logs["loss"])


for rate in (0.01, 0.02, 0.04):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(rate), "mse")
    with Path(f"{rate}.txt").open("w") as printed, contextlib.redirect_stdout(printed):
        print("begins")
        history = model.fit(
            x, x.sum(axis=1), epochs=2, batch_size=16, verbose=0, callbacks=[Logs()]
        )
    with Path("rates.jsonl").open("a") as file:
        file.write(json.dumps({"rate": rate, **history.history}) + "\n")
