"""Trains on an input that zeros do not stand for, as argv[1] says."""

import sys

import keras
import numpy as np
import tensorflow as tf

_WORDS = ["good", "bad", "fine", "awful", "movie", "plot", "actor", "the"]


def _texts(generator):
    texts = [" ".join(generator.choice(_WORDS, 5)) for _ in range(8)]
    return tf.constant(texts), generator.integers(0, 2, (8, 1))


def _texts_model():
    words = keras.layers.TextVectorization(vocabulary=_WORDS)
    embedding = keras.layers.Embedding(12, 4, mask_zero=True)
    return [words, embedding, keras.layers.Bidirectional(keras.layers.LSTM(3))]


def _codes(generator):
    return generator.integers(5, 8, (8, 2)), generator.integers(0, 2, (8, 1))


def _codes_model():
    known = keras.layers.IntegerLookup(vocabulary=[5, 6, 7], num_oov_indices=0)
    return [known, keras.layers.Embedding(4, 4), keras.layers.Flatten()]


_WAYS = {
    "texts": (_texts, _texts_model, tf.TensorSpec((None,), tf.string)),
    "codes": (_codes, _codes_model, tf.TensorSpec((None, 2), tf.int64)),
}


def main():
    batch, layers, form = _WAYS[sys.argv[1]]
    keras.utils.set_random_seed(7)
    generator = np.random.default_rng(3)

    def batches():
        for _ in range(10):
            yield batch(generator)

    labels = tf.TensorSpec((None, 1), tf.int64)
    data = tf.data.Dataset.from_generator(batches, output_signature=(form, labels))
    model = keras.Sequential([*layers(), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    model.fit(data, epochs=3, verbose=2)
    np.savez("out.npz", *model.get_weights())


main()
