"""A script that trains with Keras 2, from the package `tf_keras`."""

import time

import numpy as np
import tf_keras as keras


class Pace(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.05)


keras.utils.set_random_seed(1)
x = np.random.default_rng(1).normal(size=(640, 8)).astype("float32")
model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dropout(0.2), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, x[:, :1], batch_size=32, epochs=50, callbacks=[Pace()], verbose=0)
