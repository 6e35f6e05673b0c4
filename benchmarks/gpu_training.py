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


def compiled() -> tuple[keras.Model, np.ndarray[Any, Any]]:
    """Layers that XLA compiles on a GPU: none of cuDNN's recurrent ones."""
    sequence = keras.Input((32, 64))
    x = keras.layers.Conv1D(64, 5, activation="relu")(sequence)
    x = keras.layers.BatchNormalization()(x)
    x = keras.layers.MultiHeadAttention(4, 16, dropout=0.1)(x, x)
    x = keras.layers.GlobalAveragePooling1D()(keras.layers.LayerNormalization()(x))
    return keras.Model(sequence, keras.layers.Dense(1)(x)), _normal((640, 32, 64))


def images() -> tuple[keras.Model, np.ndarray[Any, Any]]:
    """The layers of a network for pictures, with pictures that are changed at random."""
    pictures = keras.Input((32, 32, 3))
    x = keras.layers.RandomFlip(seed=1)(pictures)
    x = keras.layers.RandomTranslation(0.1, 0.1, seed=2)(x)
    x = keras.layers.Conv2D(32, 3, padding="same", activation="relu")(x)
    x = keras.layers.BatchNormalization()(x)
    x = keras.layers.MaxPooling2D()(x)
    x = keras.layers.SeparableConv2D(64, 3, padding="same", activation="relu")(x)
    x = keras.layers.Conv2DTranspose(32, 3, strides=2, padding="same")(x)
    x = keras.layers.UpSampling2D(2)(x)
    x = keras.layers.AveragePooling2D(4)(x)
    x = keras.layers.SpatialDropout2D(0.2)(x)
    x = keras.layers.GlobalAveragePooling2D()(x)
    return keras.Model(pictures, keras.layers.Dense(1)(x)), _normal((640, 32, 32, 3))


def attention() -> tuple[keras.Model, np.ndarray[Any, Any]]:
    """A block of a transformer, and a recurrent layer."""
    sequence = keras.Input((32, 64))
    x = keras.layers.MultiHeadAttention(4, 16, dropout=0.1)(sequence, sequence)
    x = keras.layers.LayerNormalization()(keras.layers.Add()([sequence, x]))
    x = keras.layers.Dense(128, activation="gelu")(x)
    x = keras.layers.Bidirectional(keras.layers.GRU(16))(x)
    return keras.Model(sequence, keras.layers.Dense(1)(x)), _normal((640, 32, 64))


def activations() -> tuple[keras.Model, np.ndarray[Any, Any]]:
    """A step whose activations take 800 MB and more."""
    inputs = keras.Input((4,))
    x = keras.layers.Dense(4096)(inputs)
    for _ in range(12):  # each keeps 64 MiB
        x = keras.layers.Activation("tanh")(x)
    return keras.Model(inputs, keras.layers.Dense(1)(x)), _normal((8192, 4))


def _normal(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).normal(size=shape).astype("float32")


NETWORKS = {"jit": compiled, "images": images, "attention": attention, "activations": activations}


def limit_memory(megabytes: int) -> None:
    """Lets TensorFlow have no more than this of the first GPU."""
    for device in tf.config.list_physical_devices("GPU")[:1]:
        limit = tf.config.LogicalDeviceConfiguration(memory_limit=megabytes)
        tf.config.set_logical_device_configuration(device, [limit])


class Clock(keras.callbacks.Callback):
    """When each step ended; ends the training after so many seconds of them."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.ends: list[float] = []
        self._seconds = seconds

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.ends.append(time.perf_counter())
        if self.ends[-1] - self.ends[0] > self._seconds:
            self.model.stop_training = True


def train_in_a_loop(
    model: keras.Model, x: np.ndarray[Any, Any], steps: int, *, jit_compile: bool
) -> None:
    """A loop of the script's own, one `tf.function` a step.

    Keras' `fit` does not use XLA with deterministic ops, even if it is asked to; this does.
    """
    optimizer = keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)

    @tf.function(jit_compile=jit_compile)
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
    parser.add_argument("kind", choices=("dense", "fit", "mixed", "loop", *NETWORKS))
    parser.add_argument("--megabytes", type=int, default=80)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=math.inf, help="of a `fit`, at the most")
    parser.add_argument("--limit", type=int, help="megabytes that TensorFlow may have of the GPU")
    options = parser.parse_args()
    if options.limit:
        limit_memory(options.limit)
    keras.utils.set_random_seed(1)
    if options.kind == "mixed":
        keras.mixed_precision.set_global_policy("mixed_float16")
    network = NETWORKS.get(options.kind, convolutions)
    model, x = dense(options.megabytes) if options.kind == "dense" else network()
    clock = Clock(options.seconds)
    losses: list[float] = []
    if options.kind in ("loop", "jit"):
        train_in_a_loop(model, x, options.steps, jit_compile=options.kind == "jit")
    else:
        model.compile("adam", "mse")
        targets = x if options.kind == "dense" else x.reshape(len(x), -1)[:, :1].astype("float32")
        batch = len(x) // 2 if options.kind == "activations" else BATCH
        data = tf.data.Dataset.from_tensor_slices((x, targets))
        batches = data.repeat().shuffle(640, seed=1).batch(batch).take(options.steps)
        losses = model.fit(batches, verbose=0, callbacks=[clock]).history["loss"]
    milliseconds = [round(each * 1e3, 2) for each in np.diff(clock.ends)]
    found = {"peak_bytes": peak_bytes(), "losses": losses, "milliseconds": milliseconds}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
