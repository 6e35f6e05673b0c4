"""A training whose activations take most of its memory; run by `plan.py`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

STEPS = 15


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("batch", type=int)
    batch = parser.parse_args().batch
    keras.utils.set_random_seed(3)
    layers = [keras.layers.Conv2D(32, 3, padding="same", activation="relu") for _ in range(4)]
    pooled = keras.layers.GlobalAveragePooling2D()
    model = keras.Sequential(
        [keras.Input((64, 64, 3)), *layers, pooled, keras.layers.Dense(10, activation="softmax")]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    generator = np.random.default_rng(0)

    def rows() -> Iterator[tuple[Any, Any]]:
        for _ in range(STEPS):
            x = generator.random((batch, 64, 64, 3), dtype="float32")
            yield x, generator.integers(0, 10, batch)

    model.fit(rows(), steps_per_epoch=STEPS, epochs=1, verbose=0)
    print("complete", flush=True)


if __name__ == "__main__":
    main()
