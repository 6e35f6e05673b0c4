"""A record contains NaN: its batch is skipped, and the training ends with finite weights.

    pitstop run --on-nan rollback -- python examples/recover_nan.py

Without Pitstop, the loss is NaN from the first batch with that record. The batch is saved in
runs/recover_nan/attempts/N/skipped-STEP.npz.
"""

import keras
import numpy as np


def main():
    keras.utils.set_random_seed(7)
    x = np.random.default_rng(1).normal(size=(1600, 8)).astype("float32")
    y = x.sum(axis=1, keepdims=True)
    x[700, 3] = np.nan
    model = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    history = model.fit(x, y, epochs=2, verbose=2)
    finite = all(np.isfinite(weight).all() for weight in model.get_weights())
    print(f"finite weights: {finite}, last loss: {history.history['loss'][-1]:.3f}")


if __name__ == "__main__":
    main()
