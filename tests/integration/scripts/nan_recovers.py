"""Goes bad by a record, by its rate, or unseen; `--on-nan rollback` ends each of them well."""

import sys
import time

import keras
import numpy as np
import tensorflow as tf
from tiny import BATCH, make_data

KIND = sys.argv[1]


class Positive(keras.layers.Layer):
    """A ReLU that makes 0 of NaN: the loss stays finite, the layer before is NaN for good."""

    def call(self, inputs):
        return tf.where(inputs > 0, inputs, tf.zeros_like(inputs))


class Slow(keras.callbacks.Callback):
    """Long enough for some snapshots."""

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.02)


keras.utils.set_random_seed(7)
x, y = make_data()
if KIND != "rate":
    x[7 * BATCH + 3, 0] = np.nan
middle = [Positive()] if KIND == "unseen" else []
model = keras.Sequential([keras.layers.Dense(4), *middle, keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.6 if KIND == "rate" else 0.01), "mse")
history = model.fit(x, y, batch_size=BATCH, shuffle=False, verbose=2, callbacks=[Slow()])
finite = all(np.isfinite(each).all() for each in model.get_weights())
print("finite weights:", finite, "rate:", round(float(model.optimizer.learning_rate), 6))
