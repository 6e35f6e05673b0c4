"""A bug that comes back in each attempt at the same step, as the first argument says."""

import ctypes
import os
import signal
import sys
import time

import keras
import tensorflow as tf
from tiny import BATCH, make_data

KIND = sys.argv[1]
_STEP = 25
OPTIMIZER = keras.optimizers.SGD()


class Memory(keras.layers.Layer):
    """Needs more than any machine has, whatever the batch."""

    def call(self, inputs):
        size = tf.where(OPTIMIZER.iterations >= _STEP, 10**8, 1)
        return inputs + 0.0 * tf.reduce_sum(tf.random.uniform((size, size)))


class Numbers(keras.layers.Layer):
    def call(self, inputs):
        return inputs / tf.where(OPTIMIZER.iterations >= _STEP, 0.0, 1.0)


def fail():
    raise ValueError("a bug")


def need_memory():
    raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor on GPU:0")


class Bug(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.02)
        if KIND in _IN_TRAINING and OPTIMIZER.iterations >= _STEP:
            _IN_TRAINING[KIND]()

    def on_test_batch_end(self, batch, logs=None):
        if KIND == "validation":
            fail()


_IN_TRAINING = {
    "exception": fail,
    "memory_of_callback": need_memory,
    "crash": lambda: ctypes.string_at(0),
    "hang": lambda: time.sleep(1000),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "terminate": lambda: (os.kill(os.getpid(), signal.SIGTERM), time.sleep(100)),
    "exit": lambda: os._exit(75),
}
if KIND == "at_once":
    sys.exit(3)
keras.utils.set_random_seed(7)
x, y = make_data()
middle = {"memory": [Memory()], "numbers": [Numbers()]}.get(KIND, [])
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4), *middle, keras.layers.Dense(1)])
model.compile(OPTIMIZER, "mse")
told = (x[: 3 * BATCH], y[: 3 * BATCH])
model.fit(x, y, batch_size=BATCH, epochs=3, verbose=2, callbacks=[Bug()], validation_data=told)
