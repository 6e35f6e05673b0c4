"""A training on whatever device there is; the script that `gpu.py` runs.

Prints one JSON object: the most bytes that the device's allocator had given out, and the
milliseconds between the ends of the steps.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from typing import Any

import keras
import numpy as np
import tensorflow as tf

BYTES_PER_WEIGHT = 12
"""A float32 and Adam's two moments of it."""

BATCH = 32


def dense(megabytes: int) -> tuple[keras.Model, np.ndarray[Any, Any]]:
    """One matrix of this size, optimizer included, and data for it."""
    width = math.isqrt(megabytes * 1_000_000 // BYTES_PER_WEIGHT)
    x = np.random.default_rng(1).normal(size=(BATCH, width)).astype("float32")
    return keras.Sequential([keras.Input((width,)), keras.layers.Dense(width)]), x


def convolutions() -> tuple[keras.Model, np.ndarray[Any, Any]]:
    """Ops whose gradients add in any order: convolutions, batch statistics, an embedding."""
    tokens = keras.Input((64,), dtype="int32")
    x = keras.layers.Embedding(100, 32)(tokens)
    x = keras.layers.Conv1D(64, 5, activation="relu")(x)
    x = keras.layers.BatchNormalization()(x)
    x = keras.layers.Dropout(0.3)(x)
    x = keras.layers.LSTM(32)(x)
    outputs = keras.layers.Dense(1, dtype="float32")(x)
    return keras.Model(tokens, outputs), np.random.default_rng(1).integers(0, 100, (640, 64))


class Clock(keras.callbacks.Callback):
    """When each step ended."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: list[float] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.ends.append(time.perf_counter())


def train_in_a_loop(model: keras.Model, x: np.ndarray[Any, Any], steps: int) -> None:
    """A loop of the script's own, one `tf.function` a step."""
    optimizer = keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)

    @tf.function
    def step(batch: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(batch, training=True)))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    batches = iter(tf.data.Dataset.from_tensor_slices(x).shuffle(640, seed=1).repeat().batch(BATCH))
    for _ in range(steps):
        step(next(batches))


def peak_bytes() -> int:
    """What the allocator of the first GPU had given out at the most; 0 without one."""
    if not tf.config.list_physical_devices("GPU"):
        return 0
    return int(tf.config.experimental.get_memory_info("GPU:0")["peak"])


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("kind", choices=("dense", "fit", "mixed", "loop"))
    parser.add_argument("--megabytes", type=int, default=80)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    keras.utils.set_random_seed(1)
    if options.kind == "mixed":
        keras.mixed_precision.set_global_policy("mixed_float16")
    model, x = dense(options.megabytes) if options.kind == "dense" else convolutions()
    clock = Clock()
    if options.kind == "loop":
        train_in_a_loop(model, x, options.steps)
    else:
        model.compile("adam", "mse")
        targets = x if options.kind == "dense" else x[:, :1].astype("float32")
        data = tf.data.Dataset.from_tensor_slices((x, targets)).shuffle(640, seed=1)
        batches = data.repeat().batch(BATCH).take(options.steps)
        model.fit(batches, verbose=0, callbacks=[clock])
    milliseconds = [round(each * 1e3, 2) for each in np.diff(clock.ends)]
    print(json.dumps({"peak_bytes": peak_bytes(), "milliseconds": milliseconds}))


if __name__ == "__main__":
    main()
