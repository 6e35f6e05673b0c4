"""A loss becomes NaN, for one of three reasons, and the training ends with finite weights.

    pitstop run --on-nan rollback -- python examples/recover_nan.py            # a bad record
    pitstop run --on-nan rollback -- python examples/recover_nan.py rate       # a high rate
    pitstop run --on-nan rollback -- python examples/recover_nan.py schedule   # of a schedule

The batch with the record is skipped, and saved in runs/recover_nan/attempts/N/skipped-STEP.npz.
The rate is divided by ten. That of a schedule stays, and gradients are clipped.
"""

import sys

import keras
import numpy as np


def main():
    kind = sys.argv[1] if len(sys.argv) > 1 else "record"
    keras.utils.set_random_seed(7)
    x = np.random.default_rng(1).normal(size=(1600, 8)).astype("float32")
    y = x.sum(axis=1, keepdims=True)
    if kind == "record":
        x[700, 3] = np.nan
    decay = keras.optimizers.schedules.ExponentialDecay(2.0, 20, 0.7)
    sgd = keras.optimizers.SGD(decay if kind == "schedule" else 2.0)
    # A ReLU would make 0 of the NaN, and hide it from the loss.
    hidden = keras.layers.Dense(32, activation="tanh" if kind == "record" else "relu")
    model = keras.Sequential([hidden, keras.layers.Dense(1)])
    model.compile("adam" if kind == "record" else sgd, "mse")
    history = model.fit(x, y, epochs=2, verbose=2)
    finite = all(np.isfinite(weight).all() for weight in model.get_weights())
    print(f"finite weights: {finite}, last loss: {history.history['loss'][-1]:.3f}")


if __name__ == "__main__":
    main()
