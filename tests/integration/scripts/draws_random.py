"""Trains with steps that draw random numbers by stateful ops of TensorFlow.

usage: draws_random.py fit|legacy|loop|steps|callback OUT
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import tensorflow as tf

import pitstop

if sys.argv[1] == "legacy":
    import tf_keras as keras
else:
    import keras

ROWS = np.random.default_rng(2).random((52, 4), "float32")


class Encoder(keras.Model):
    """A variational autoencoder: its training and its validation sample."""

    def __init__(self) -> None:
        super().__init__()
        self.encode, self.decode = keras.layers.Dense(4), keras.layers.Dense(4)
        self.loss_mean = keras.metrics.Mean(name="loss")

    def loss_of(self, rows: Any) -> Any:
        mean, scale = tf.split(self.encode(rows), 2, axis=1)
        drawn = mean + tf.exp(scale) * tf.random.normal(tf.shape(mean))
        return tf.reduce_mean((self.decode(tf.nn.dropout(drawn, 0.1)) - rows) ** 2)

    def train_step(self, rows: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = self.loss_of(rows)
        variables = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        self.loss_mean.update_state(loss)
        return {"loss": self.loss_mean.result()}

    def test_step(self, rows: Any) -> Any:
        self.loss_mean.update_state(self.loss_of(rows))
        return {"loss": self.loss_mean.result()}

    def predict_step(self, rows: Any) -> Any:
        return self.decode(tf.random.normal((tf.shape(rows)[0], 2)))


def fit() -> list[Any]:
    """Batches that are not all of one size; an `evaluate` with another size between two fits."""
    model = Encoder()
    shown: list[Any] = []
    show = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda *_: shown.append(model.predict(ROWS[:8], verbose=0))
    )
    model.compile("adam")
    data = tf.data.Dataset.from_tensor_slices(ROWS)
    kept = []
    for _ in range(2):
        history = model.fit(
            data.batch(8),
            epochs=3,
            validation_data=data.take(20).batch(8),
            verbose=0,
            callbacks=[show],
        )
        kept += [history.history["val_loss"], model.evaluate(data.batch(26), verbose=0)]
    return [*kept, *shown, *model.get_weights()]


class Disturbing(keras.callbacks.Callback):
    """It is the first to draw from Keras' global stream, and sets new seeds later."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if epoch > 2:
            keras.utils.set_random_seed(epoch)
        kernel = self.model.layers[0].kernel
        kernel.assign_add(0.01 * keras.random.normal(kernel.shape))


def callback() -> list[Any]:
    layers = [keras.layers.Dense(4), keras.layers.Dropout(0.2), keras.layers.Dense(4)]
    model = keras.Sequential([keras.Input((4,)), *layers])
    model.compile("adam", "mse")
    for _ in range(2):
        model.fit(ROWS, ROWS, batch_size=10, epochs=5, verbose=0, callbacks=[Disturbing()])
    return [*model.get_weights(), keras.random.normal((3,))]


def loop() -> list[Any]:
    model, optimizer = Encoder(), keras.optimizers.Adam()

    @tf.function
    def train_step(rows: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = model.loss_of(rows)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    @tf.function
    def sample(count: Any) -> Any:
        return model.decode(tf.random.truncated_normal((count, 2)))

    kept = []
    for _ in range(6):
        starts = range(0, len(ROWS), 8)
        kept += [train_step(tf.constant(ROWS[start : start + 8])) for start in starts]
        kept.append(tf.reduce_sum(sample(tf.constant(3))))
    return [np.array(kept), *model.get_weights()]


def steps() -> list[Any]:
    weights, total = tf.Variable(tf.ones((4, 1))), tf.Variable(0.0)

    @tf.function
    def sample(count: Any) -> Any:
        return tf.random.uniform((count,))

    @tf.function
    def train_step(rows: Any) -> Any:
        drawn = tf.nn.dropout(rows, 0.2) @ weights + tf.random.normal((8, 1))
        weights.assign_sub(0.01 * tf.reduce_mean(drawn) * tf.ones((4, 1)))

    total.assign(tf.reduce_sum(sample(tf.constant(4))))
    run = pitstop.start("alone", weights=weights, total=total)
    for step in run.steps(40):
        train_step(tf.constant(ROWS[step : step + 8]))
        total.assign_add(tf.reduce_sum(sample(tf.constant(3))))
    return [weights, total]


def main() -> None:
    keras.utils.set_random_seed(1)
    found = {"loop": loop, "steps": steps, "callback": callback}.get(sys.argv[1], fit)()
    np.savez(sys.argv[2], *map(np.asarray, found))


main()
