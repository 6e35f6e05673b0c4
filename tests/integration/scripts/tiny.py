"""The smallest model and data that train, for the scripts that go wrong."""

import keras
import numpy as np

BATCH = 32


def make_data(batches=20):
    generator = np.random.default_rng(3)
    x = generator.normal(size=(batches * BATCH, 8)).astype("float32")
    return x, x.sum(axis=1, keepdims=True)


def build_model(model_class=keras.Sequential):
    model = model_class([keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    return model


def fit(callbacks=(), epochs=3, **settings):
    """Trains a fresh model for `epochs` of 20 batches; returns its History."""
    keras.utils.set_random_seed(7)
    x, y = make_data()
    return build_model().fit(
        x, y, batch_size=BATCH, epochs=epochs, verbose=2, callbacks=list(callbacks), **settings
    )
