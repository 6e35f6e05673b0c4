"""Trains on a `PyDataset`, read by two processes, one batch of which raises."""

import sys

import keras
import numpy as np


class Rows(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        if index == 5:
            raise OSError(f"image file {index}.jpg is truncated")
        x = np.random.default_rng(index).normal(size=(8, 4)).astype("float32")
        return x, x.sum(1, keepdims=True)


keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
rows = Rows(workers=2, use_multiprocessing=True)
model.fit(rows, epochs=3, shuffle=True, verbose=0)
np.savez(sys.argv[1], *model.get_weights())
