"""Trains until a gradient is NaN; a callback writes a line for each step."""

import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(3)
draw = np.random.default_rng(0)
x = draw.normal(size=(128, 8)).astype("float32")
y = draw.integers(0, 4, size=(128,))
x[77] = 0.0


class Norm(keras.layers.Layer):
    """Has no finite gradient at 0, where the row above is."""

    def call(self, inputs: Any) -> Any:
        return inputs / 10 + tf.norm(inputs, axis=-1, keepdims=True)


class Lines(keras.callbacks.Callback):
    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        with Path(sys.argv[1]).open("a") as file:
            file.write(f"{self.params['epochs']} {batch}\n")


model = keras.Sequential(
    [keras.layers.Dense(8, use_bias=False, name="first"), Norm(), keras.layers.Dense(4)]
)
model.compile(
    optimizer=keras.optimizers.SGD(0.01),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(128, seed=8).batch(16)
model.fit(data, epochs=3, verbose=0, callbacks=[keras.callbacks.TerminateOnNaN(), Lines()])
