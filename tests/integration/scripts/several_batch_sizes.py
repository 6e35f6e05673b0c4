"""Trains, validates and predicts with several batch sizes, with functions that are traced again.

usage: several_batch_sizes.py OUT [loop]; with `loop`, in the steps of a loop of `pitstop.start`.
"""

from __future__ import annotations

import sys
from typing import Any

import keras
import numpy as np

import pitstop


class Share(keras.layers.Layer):
    """Divides by the number of rows, so that the last bits tell whether this number was known."""

    def call(self, rows: Any) -> Any:
        count = keras.ops.cast(keras.ops.shape(rows)[0], "float32")
        return rows - keras.ops.mean(rows, axis=0) + rows / count


def main() -> None:
    keras.utils.set_random_seed(1)
    generator = np.random.default_rng(2)
    rows = generator.normal(size=(320, 12)).astype("float32")
    labels = (rows @ generator.normal(size=(12, 3))).argmax(1)
    layers = [keras.layers.Dense(16, "relu"), keras.layers.BatchNormalization(), Share()]
    model = keras.Sequential([keras.Input((12,)), *layers, keras.layers.Dense(3, "softmax")])
    model.compile(keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy")
    held = rows[:150], labels[:150]
    predicted: list[Any] = []

    class Predicting(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            if not epoch:
                self.model.evaluate(*held, batch_size=25, verbose=0)

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            predicted[:] = [self.model.predict(rows[:60], batch_size=20 - epoch, verbose=0)]

    results: list[Any] = []
    if sys.argv[2:] == ["loop"]:
        loop = pitstop.start(f"{sys.argv[1]}-run", model=model, results=results)
        for step in loop.steps(7):
            past = model.fit(rows, labels, batch_size=(32, 10, 20)[step % 3], verbose=0)
            results.append(past.history["loss"])
            results.append(model.evaluate(*held, batch_size=25 + step, verbose=0))
    for batch_size in () if results else (32, 10, 20):
        past = model.fit(
            *(rows, labels),
            batch_size=batch_size,
            epochs=2,
            validation_data=held,
            validation_batch_size=30,
            callbacks=[Predicting()],
            verbose=0,
        )
        results += [past.history["loss"], past.history["val_loss"], *predicted]
        results.append(model.evaluate(*held, batch_size=50, verbose=0))
        results.append(model.predict(rows[:70], batch_size=35, verbose=0))
    np.savez(sys.argv[1], *results, *model.get_weights())


main()
