"""A training with so many megabytes of state; for `resume.py` and `restart.py`."""

from __future__ import annotations

import argparse
import math

import keras
import numpy as np

BYTES_PER_WEIGHT = 12
"""A float32 and Adam's two moments of it."""

ROWS, BATCH = 640, 16


def main() -> None:
    """Trains for an epoch, or for more."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("megabytes", type=int)
    parser.add_argument("epochs", type=int, nargs="?", default=1)
    arguments = parser.parse_args()
    width = math.isqrt(arguments.megabytes * 1_000_000 // BYTES_PER_WEIGHT)
    keras.utils.set_random_seed(1)
    x = np.random.default_rng(1).normal(size=(ROWS, width)).astype("float32")
    model = keras.Sequential([keras.Input((width,)), keras.layers.Dense(width)])
    model.compile("adam", "mse")
    model.fit(x, x, batch_size=BATCH, epochs=arguments.epochs, verbose=0)


if __name__ == "__main__":
    main()
