"""A step that does not fit into memory is computed in parts, as one update.

    docker run --memory 1000m --memory-swap 1000m ...
    pitstop run --on-oom shrink -- python examples/recover_memory.py

Without Pitstop, the kernel kills it in its first step. A batch keeps its 4096 records; loss and
weights are those of the whole batch, up to rounding.
"""

import keras
import numpy as np

RECORDS, BATCH, WIDTH = 8192, 4096, 4096


def main():
    keras.utils.set_random_seed(4)
    inputs = keras.Input((4,))
    hidden = keras.layers.Dense(WIDTH)(inputs)
    for _ in range(12):  # each keeps 64 MiB of activations
        hidden = keras.layers.Activation("tanh")(hidden)
    model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
    model.compile(keras.optimizers.SGD(0.001, momentum=0.9), "mse")
    x = np.random.default_rng(0).normal(size=(RECORDS, 4)).astype("float32")
    history = model.fit(x, x.sum(1, keepdims=True), batch_size=BATCH, epochs=3, verbose=2)
    weights = {str(index): value for index, value in enumerate(model.get_weights())}
    np.savez("memory.npz", loss=history.history["loss"], **weights)


if __name__ == "__main__":
    main()
