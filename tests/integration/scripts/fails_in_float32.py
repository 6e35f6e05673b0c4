"""The fourth step asks for more memory than there is, unless layers compute in 16 bits."""

import sys

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(7)


class Wide(keras.layers.Layer):
    def build(self, shape):
        self.seen = self.add_weight(shape=(), initializer="zeros", trainable=False, dtype="int64")

    def call(self, x):
        self.seen.assign_add(1)
        if self.compute_dtype != "float32":
            return x
        values = tf.where(self.seen == 4, tf.constant(1 << 46, "int64"), 1)
        return x + tf.random.uniform([values])[0] * 0


inputs = keras.Input((4,))
model = keras.Model(inputs, keras.layers.Dense(1)(Wide()(inputs)))
model.compile(keras.optimizers.Adam(0.01), "mse")
x = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")
model.fit(x, x.sum(1, keepdims=True), batch_size=8, epochs=2, verbose=0)
np.savez(sys.argv[1], updates=model.optimizer.iterations.numpy())
