"""A training in whose middle the contenders save by turns; run by `saving.py` under Pitstop.

Prints one JSON object per turn: who saved, how long the training thread was kept between the two
steps, and how long the turn took in all.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from benchmarks.contenders import CONTENDERS, Contender

WARM_UP_STEPS = 6
FLOAT_BYTES = 4
ADAM_COPIES = 3  # the variable itself and two slots


def dense_model(megabytes: int) -> tuple[keras.Model, tf.data.Dataset]:
    """One wide hidden layer; nearly all of the state is three matrices of its size."""
    width = max(64, int((megabytes * 1e6 / FLOAT_BYTES / ADAM_COPIES / LAYERS) ** 0.5))
    layers = [keras.layers.Dense(width, activation="relu") for _ in range(LAYERS)]
    model = keras.Sequential([keras.Input((width,)), *layers, keras.layers.Dense(1)])
    x = np.random.default_rng(1).normal(size=(BATCH, width)).astype("float32")
    return model, tf.data.Dataset.from_tensors((x, x[:, :1])).repeat()


def sparse_model(megabytes: int) -> tuple[keras.Model, tf.data.Dataset]:
    """An embedding that each step changes in a few rows."""
    rows = int(megabytes * 1e6 / FLOAT_BYTES / ADAM_COPIES / COLUMNS)
    model = keras.Sequential(
        [
            keras.Input((20,), dtype="int32"),
            keras.layers.Embedding(rows, COLUMNS),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(1),
        ]
    )
    x = np.random.default_rng(1).integers(0, rows, (BATCH, 20)).astype("int32")
    y = np.zeros((BATCH, 1), "float32")
    return model, tf.data.Dataset.from_tensors((x, y)).repeat()


LAYERS = 4
COLUMNS = 64
BATCH = 64
MODELS = {"dense": dense_model, "sparse": sparse_model}


class Turns(keras.callbacks.Callback):
    """Gives every contender its turn, in another order in every round."""

    def __init__(self, contenders: dict[str, Contender], rounds: int, steps: int) -> None:
        super().__init__()
        self._contenders = contenders
        self._order = [
            name
            for number in range(rounds)
            for name in random.Random(number).sample(list(contenders), len(contenders))
        ]
        self._steps = steps
        self._done = -WARM_UP_STEPS
        self._began = 0.0
        self._ended = 0.0
        self._kept = 0.0

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if self._done >= 0 and self._done % self._steps == 0:
            self._kept = time.perf_counter() - self._ended

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._done += 1
        if self._done > 0 and self._done % self._steps == 0:
            self._report(time.perf_counter() - self._began)
        if self._done >= 0 and self._done % self._steps == 0:
            self._begin()

    def _begin(self) -> None:
        turn = self._done // self._steps
        if turn == len(self._order):
            self.model.stop_training = True
            return
        contender = self._contenders[self._order[turn]]
        getattr(contender, "prepare", lambda: None)()
        self._began = self._ended = time.perf_counter()
        contender.save()

    def _report(self, seconds: float) -> None:
        name = self._order[self._done // self._steps - 1]
        waited = time.perf_counter()
        self._contenders[name].finish()
        waited = time.perf_counter() - waited
        record = {"name": name, "kept": self._kept, "turn": seconds, "rest": waited}
        print(json.dumps(record), flush=True)


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=MODELS, default="dense")
    parser.add_argument("--megabytes", type=int, default=80)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=10, help="steps of a turn")
    parser.add_argument("--only", nargs="+", default=list(CONTENDERS))
    options = parser.parse_args()
    keras.utils.set_random_seed(1)
    model, data = MODELS[options.kind](options.megabytes)
    model.compile(keras.optimizers.Adam(1e-4), "mse")
    model.optimizer.build(model.trainable_variables)
    with tempfile.TemporaryDirectory() as folder:
        contenders = {
            name: CONTENDERS[name](model, Path(folder) / str(place))
            for place, name in enumerate(options.only)
        }
        turns = Turns(contenders, options.rounds, options.steps)
        model.fit(data, epochs=1, steps_per_epoch=10**6, callbacks=[turns], verbose=0)


if __name__ == "__main__":
    main()
