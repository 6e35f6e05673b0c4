"""Goes bad by a record, by its rate, or unseen; `--on-nan rollback` ends each of them well."""

import hashlib
import sys
import time

import keras
import numpy as np
import tensorflow as tf
from keras.optimizers.schedules import ExponentialDecay
from tiny import BATCH, make_data

KIND = sys.argv[1]


class Positive(keras.layers.Layer):
    """A ReLU that makes 0 of NaN: the loss stays finite, the layer before is NaN for good."""

    def call(self, inputs):
        return tf.where(inputs > 0, inputs, tf.zeros_like(inputs))


class ByHand(keras.Sequential):
    """Moves its weights itself, as far as a schedule says."""

    def train_step(self, data):
        inputs, targets = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(inputs, targets, self(inputs, training=True))
        variables = self.trainable_variables
        for each, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            each.assign_sub(0.6 * gradient)
        return {"loss": loss}


class Slow(keras.callbacks.Callback):
    """Long enough for some snapshots."""

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.02)


keras.utils.set_random_seed(7)
x, y = make_data()
SCHEDULED = ("schedule", "clips", "own")
rate = ExponentialDecay(0.6, 1000, 0.9) if KIND in SCHEDULED else 0.6 if KIND == "rate" else 0.01
if KIND in ("record", "unseen"):
    x[7 * BATCH + 3, 0] = np.nan
middle = [Positive()] if KIND == "unseen" else []
model_class = ByHand if KIND == "own" else keras.Sequential
model = model_class([keras.layers.Dense(4), *middle, keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(rate, clipvalue=1e30 if KIND == "clips" else None), "mse")
history = model.fit(x, y, batch_size=BATCH, shuffle=False, verbose=2, callbacks=[Slow()])
finite = all(np.isfinite(each).all() for each in model.get_weights())
print("finite weights:", finite, "rate:", round(float(model.optimizer.learning_rate), 6))
print("weights:", hashlib.md5(b"".join(each.tobytes() for each in model.get_weights())).hexdigest())
