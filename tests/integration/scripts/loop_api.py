"""A training loop with `pitstop.start`; writes the loss of every step and the last weights."""

import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from loop_faults import interrupt

import pitstop

STEPS = 40
OUT = Path(sys.argv[1])
RUN = sys.argv[2]


class Averages:
    """An object with a state of its own."""

    def __init__(self):
        self.loss = 1.0

    def state_dict(self):
        return {"loss": self.loss}

    def load_state_dict(self, state):
        self.loss = state["loss"]


def main():
    keras.utils.set_random_seed(3)
    rng = np.random.default_rng(5)
    x = np.random.default_rng(1).normal(size=(320, 8)).astype("float32")
    y = (x.sum(axis=1) > 0).astype("int32")
    rows = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(64, seed=2).repeat().batch(16)
    batches = iter(rows)
    model = keras.Sequential(
        [
            keras.layers.Dense(16, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.4),
            keras.layers.Dense(2),
        ]
    )
    optimizer = keras.optimizers.Adam(0.01)
    noise = tf.random.Generator.from_seed(9)
    accuracy = keras.metrics.SparseCategoricalAccuracy()
    history, averages = [], Averages()
    run = pitstop.start(
        RUN,
        model=model,
        optimizer=optimizer,
        accuracy=accuracy,
        data=batches,
        rng=rng,
        noise=noise,
        history=history,
        averages=averages,
    )

    @tf.function
    def train_step(inputs, labels):
        with tf.GradientTape() as tape:
            inputs = inputs + noise.normal(tf.shape(inputs), stddev=0.01)
            logits = model(inputs, training=True)
            loss = tf.reduce_mean(
                keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)
            )
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        accuracy.update_state(labels, logits)
        return loss

    for step in run.steps(STEPS):
        inputs, labels = next(batches)
        scale = rng.uniform(0.9, 1.1)
        loss = train_step(inputs * scale, labels)
        averages.loss = 0.9 * averages.loss + 0.1 * float(loss)
        history.append([float(loss), float(accuracy.result()), scale, averages.loss])
        run.log(loss=loss, accuracy=accuracy.result())
        interrupt(step)
    np.savez(OUT, history=np.array(history), **{v.path: v.numpy() for v in model.variables})


if __name__ == "__main__":
    main()
