"""Calls `fit` for each batch of a replay memory; faults come in the middle of one.

usage: trains_for_each_batch.py OUT FITS
"""

import random
import sys
from collections import deque

import keras
import numpy as np
from faults import meet

OUT, FITS = sys.argv[1], int(sys.argv[2])


class Model(keras.Sequential):
    fits = 0

    def reset_metrics(self):
        """Keras calls it as an epoch begins."""
        super().reset_metrics()
        meet("fit", Model.fits)


def draw(size):
    return rng.normal(size=size).astype("float32")


keras.utils.set_random_seed(1)
rng = np.random.default_rng(0)
model = Model([keras.Input((4,)), keras.layers.Dense(8), keras.layers.Dropout(0.2)])
model.add(keras.layers.Dense(2))
model.compile("adam", "mse")
memory = deque([(draw(4), draw(2)) for _ in range(128)], maxlen=128)
losses = []
for _ in range(FITS):
    Model.fits += 1
    batch = random.sample(memory, 64)
    x, y = (np.array(each) for each in zip(*batch, strict=True))
    losses += model.fit(x, y, epochs=2, verbose=0).history["loss"]
    memory.append((draw(4), draw(2)))
np.savez(OUT, *model.get_weights(), losses=losses)
