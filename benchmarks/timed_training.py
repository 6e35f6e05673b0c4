"""A training whose steps take several milliseconds; writes how long they took.

The script that `overhead.py` runs with and without Pitstop.  Time counts from
the end of the 20th step, when everything is traced, to the end of `fit`.
"""

import argparse
import time
from pathlib import Path

import keras
import numpy as np

WARM_UP_STEPS = 20


class Stopwatch(keras.callbacks.Callback):
    """Takes the time of all steps after the warm-up."""

    def __init__(self):
        super().__init__()
        self.steps = 0
        self.started = 0.0

    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1
        if self.steps == WARM_UP_STEPS:
            self.started = time.perf_counter()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="file for: seconds steps")
    parser.add_argument("--width", type=int, default=640, help="sets the time of a step")
    parser.add_argument("--steps", type=int, default=1200)
    options = parser.parse_args()
    keras.utils.set_random_seed(1)
    x = np.random.default_rng(1).normal(size=(6400, 64)).astype("float32")
    y = (x[:, :8].argmax(axis=1)).astype("int32")
    model = keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Dense(options.width, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.3),
            keras.layers.Dense(options.width, activation="relu"),
            keras.layers.Dense(8, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    watch = Stopwatch()
    model.fit(x, y, batch_size=64, epochs=options.steps // 100, callbacks=[watch], verbose=0)
    seconds = time.perf_counter() - watch.started
    options.out.write_text(f"{seconds} {watch.steps - WARM_UP_STEPS}")


if __name__ == "__main__":
    main()
