"""One NaN in one row: the loss stays a number, and the first layer is NaN for good."""

import keras
import numpy as np
import tensorflow as tf
from tiny import BATCH, make_data


class Positive(keras.layers.Layer):
    """A ReLU that makes 0 of NaN, as some kernels do; the gradient behind it is NaN."""

    def call(self, inputs):
        return tf.where(inputs > 0, inputs, tf.zeros_like(inputs))


x, y = make_data()
x[7 * BATCH + 3, 0] = np.nan
model = keras.Sequential([keras.layers.Dense(8, name="first"), Positive(), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y, batch_size=BATCH, shuffle=False, epochs=2, verbose=2)
