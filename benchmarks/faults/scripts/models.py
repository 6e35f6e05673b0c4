"""Small models, and arrays that each can learn from: 20 batches of 32."""

import keras
import numpy as np
from faults import reach

BATCH = 32
BATCHES = 20
CLASSES = 10


def digits():
    """A convolutional network on the handwritten digits of scikit-learn."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    x = (x[: BATCH * BATCHES] / 16).reshape(-1, 8, 8, 1).astype("float32")
    layers = [
        keras.Input((8, 8, 1)),
        keras.layers.Conv2D(8, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dropout(0.1),
        keras.layers.Dense(CLASSES),
    ]
    return layers, x, y[: BATCH * BATCHES].astype("int32")


def text():
    """Which of ten topics a sentence of 16 words is about."""
    generator = np.random.default_rng(5)
    y = generator.integers(0, CLASSES, BATCH * BATCHES)
    x = generator.integers(0, 20, (BATCH * BATCHES, 16)) + 20 * y[:, None]
    layers = [
        keras.Input((16,), dtype="int32"),
        keras.layers.Embedding(20 * CLASSES, 8),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(CLASSES),
    ]
    return layers, x.astype("int32"), y.astype("int32")


def dense():
    """A regression that two Dense layers learn."""
    generator = np.random.default_rng(3)
    x = generator.normal(size=(BATCH * BATCHES, 8)).astype("float32")
    layers = [keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(1)]
    return layers, x, x.sum(axis=1, keepdims=True)


MODELS = {"digits": digits, "text": text, "dense": dense}


class Traced(keras.Sequential):
    """Its training step is a place too: it is run by Python once, while it is traced."""

    def train_step(self, data):
        reach("trace")
        return super().train_step(data)


def build(name, rate=0.01):
    """A compiled model, and its data."""
    layers, x, y = MODELS[name]()
    model = Traced(layers)
    loss = (
        "mse" if name == "dense" else keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    optimizer = keras.optimizers.SGD(rate) if name == "dense" else keras.optimizers.Adam(rate)
    model.compile(optimizer, loss)
    return model, x, y
