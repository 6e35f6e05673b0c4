"""A small training whose callback keeps what every step gives it, and one that does not."""

import argparse
import time

import keras
import numpy as np


class Hoarder(keras.callbacks.Callback):
    """Keeps some memory of every step for ever, or lets go of it at once."""

    def __init__(self, size_bytes, seconds, *, keeps):
        super().__init__()
        self.size_bytes = size_bytes
        self.seconds = seconds
        self.keeps = keeps
        self.hoard = []

    def on_train_batch_end(self, batch, logs=None):
        self.hoard.append(bytearray(b"x") * self.size_bytes)
        if not self.keeps:
            self.hoard.clear()
        time.sleep(self.seconds)


parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1000)
parser.add_argument("--size", type=int, default=0)
parser.add_argument("--step-seconds", type=float, default=0.02)
parser.add_argument("--healthy", action="store_true")
parser.add_argument("--board", default="")
options = parser.parse_args()

keras.utils.set_random_seed(5)
x, y = np.random.rand(640, 8).astype("float32"), np.random.rand(640, 1).astype("float32")
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
model.compile("adam", "mse")
callbacks = [Hoarder(options.size, options.step_seconds, keeps=not options.healthy)]
if options.board:
    callbacks.append(keras.callbacks.TensorBoard(options.board, update_freq=1))
model.fit(x, y, batch_size=32, epochs=options.epochs, verbose=0, callbacks=callbacks)
