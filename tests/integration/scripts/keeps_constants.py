"""Trains with a number of Python that a callback changes at each epoch.

usage: keeps_constants.py RATE OUT; TensorFlow keeps the number of the first step.
"""

from __future__ import annotations

import sys
from typing import Any

import keras
import numpy as np


class Weighted(keras.Model):
    factor = 1.0

    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(1)

    def call(self, rows: Any) -> Any:
        return self.dense(rows)

    def compute_loss(self, *arguments: Any, **named: Any) -> Any:
        return super().compute_loss(*arguments, **named) * self.factor


def main() -> None:
    keras.utils.set_random_seed(1)
    rate = float(sys.argv[1])
    rows = np.random.default_rng(2).random((32, 4), "float32")
    model = Weighted()
    model.compile("sgd", "mse")

    def change(epoch: int, _logs: Any) -> None:
        model.factor = rate ** (epoch + 1)

    changing = keras.callbacks.LambdaCallback(on_epoch_begin=change)
    model.fit(rows, rows.sum(1), epochs=4, batch_size=4, verbose=0, callbacks=[changing])
    np.save(sys.argv[2], model.get_weights()[0])


main()
