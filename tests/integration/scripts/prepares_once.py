"""Keeps its prepared data in a file, and its random generator in a local variable.

`prepares_once.py OUT [fit | loop | start] [global | scaled | dies]`; `global`: the generator is
that of `numpy.random`; `scaled`: has a scale only where it prepares the data; `dies`: after it has.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np

import pitstop

PREPARED = Path("prepared.npy")


def prepared(rng: Any) -> np.ndarray:
    if not PREPARED.exists():
        np.save(PREPARED, rng.normal(size=(40, 4)).astype("float32"))
        if "dies" in sys.argv:
            os.kill(os.getpid(), signal.SIGKILL)
    return np.load(PREPARED)


def main() -> None:
    keras.utils.set_random_seed(1)
    rng = np.random if "global" in sys.argv else np.random.default_rng(2)
    scale = 0.5 if "scaled" in sys.argv and not PREPARED.exists() else 1.0
    x = prepared(rng)
    model = keras.Sequential([keras.layers.Dense(2), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    losses = []
    run = pitstop.start("run", model=model) if "start" in sys.argv else None
    for _ in range(2):
        if run:
            batches = np.split(x, 10)
            losses += [model.train_on_batch(batches[i], batches[i][:, :1]) for i in run.steps(10)]
        elif "loop" in sys.argv:
            losses += [model.train_on_batch(each, each[:, :1]) for each in np.split(x, 10)]
        else:
            losses += model.fit(x, x[:, :1], batch_size=4, epochs=1, verbose=0).history["loss"]
        x = scale * x + rng.normal(0, 0.1, x.shape).astype("float32")
    Path(sys.argv[1]).write_text(f"{losses} {rng.normal()}")
    PREPARED.unlink()


if __name__ == "__main__":
    main()
