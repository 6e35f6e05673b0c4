"""Small steps, and an input that holds a GiB in memory: read ahead, in a cache, or by workers."""

import sys
import time

import keras
import numpy as np
import tensorflow as tf

BATCHES = 80
VALUES = 4 << 20


def batch(number):
    """16 MiB."""
    x = tf.random.stateless_uniform([4, VALUES // 4], [number, 7])
    return x[:, :8], x


def small(x, large):
    return x, tf.reduce_mean(large, axis=1, keepdims=True)


class Batches(keras.utils.PyDataset):
    def __init__(self):
        super().__init__(workers=2, max_queue_size=BATCHES)

    def __len__(self):
        return BATCHES

    def __getitem__(self, index):
        return np.full((4, VALUES // 4), index / BATCHES, "float32"), np.full(
            (4, 1), index, "float32"
        )


class Slow(keras.callbacks.Callback):
    """Steps are slower than the input, the first above all."""

    def on_train_begin(self, logs=None):
        self.seconds = 5

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(self.seconds)
        self.seconds = 0.05


def data(kind):
    if kind == "workers":
        return Batches()
    batches = tf.data.Dataset.range(BATCHES).map(batch)
    held = batches.cache() if kind == "cache" else batches.prefetch(BATCHES)
    return held.map(small)


def main(out, kind):
    keras.utils.set_random_seed(4)
    rows = [keras.Input((8,))]
    if kind == "workers":
        pool = keras.layers.GlobalAveragePooling1D("channels_first")
        rows = [keras.Input((VALUES // 4,)), keras.layers.Reshape((8, -1)), pool]
    model = keras.Sequential([*rows, keras.layers.Dense(8), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    history = model.fit(data(kind), epochs=2, verbose=0, callbacks=[Slow()])
    weights = {str(index): value for index, value in enumerate(model.get_weights())}
    np.savez(out, loss=history.history["loss"], **weights)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
