"""A step that needs a few hundred MiB for its activations, and next to nothing for its weights."""

import sys

import keras
import numpy as np

RECORDS = 8192
WIDTH = 4096
LAYERS = 12


def main(out, batch_size):
    keras.utils.set_random_seed(4)
    inputs = keras.Input((4,))
    hidden = keras.layers.Dense(WIDTH)(inputs)
    for _ in range(LAYERS):
        hidden = keras.layers.Activation("tanh")(hidden)
    model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
    model.compile(keras.optimizers.SGD(0.001, momentum=0.9), "mse")
    generator = np.random.default_rng(0)
    x = generator.normal(size=(RECORDS, 4)).astype("float32")
    history = model.fit(x, x.sum(1, keepdims=True), batch_size=batch_size, epochs=3, verbose=0)
    weights = {str(index): value for index, value in enumerate(model.get_weights())}
    np.savez(out, loss=history.history["loss"], **weights)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
