"""A training that takes turns: it trains a number of steps, says how long they took, and waits.

The script that `overhead.py` runs with and without Pitstop.  It reads a line
from standard input before every turn, prints the seconds of the turn when it
is done, and ends when its input does.
"""

import argparse
import sys
import time

import keras
import numpy as np


class Turns(keras.callbacks.Callback):
    """Holds the training between two turns."""

    def __init__(self, steps):
        super().__init__()
        self.steps = steps
        self.done = 0
        self.started = 0.0

    def on_train_begin(self, logs=None):
        self.wait()

    def on_train_batch_end(self, batch, logs=None):
        self.done += 1
        if self.done % self.steps == 0:
            print(time.perf_counter() - self.started, flush=True)
            self.wait()

    def wait(self):
        if not sys.stdin.readline():
            self.model.stop_training = True
        self.started = time.perf_counter()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=896, help="sets the time of a step")
    parser.add_argument("--steps", type=int, default=200, help="steps of a turn")
    parser.add_argument("--batch", type=int, default=64, help="sets the time of a step, too")
    options = parser.parse_args()
    keras.utils.set_random_seed(1)
    x = np.random.default_rng(1).normal(size=(100 * options.batch, 64)).astype("float32")
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
    model.fit(
        x, y, batch_size=options.batch, epochs=10**6, callbacks=[Turns(options.steps)], verbose=0
    )


if __name__ == "__main__":
    main()
