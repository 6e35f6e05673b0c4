"""A sweep of the kind that people write by hand; what it has results of, it leaves out.

usage: sweep.py grid|repeats|folds|sampler|random|best|pretrained|noted [PLAIN]
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from pathlib import Path

import keras
import numpy as np

RESULTS = Path("results.json")
kind = sys.argv[1]
done = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
draw = np.random.default_rng(0)
x = draw.normal(size=(96, 6)).astype("float32")
y = (x.sum(1) > 0).astype("int32")


def train(
    rate: float, units: int, rows: slice | np.ndarray = slice(None), *callbacks: object
) -> float:
    model = keras.Sequential(
        [keras.layers.Dense(units, activation="relu"), keras.layers.Dropout(0.2)]
    )
    model.add(keras.layers.Dense(1, activation="sigmoid"))
    model.compile(keras.optimizers.Adam(rate), "binary_crossentropy")
    history = model.fit(x[rows], y[rows], epochs=3, batch_size=8, verbose=0, callbacks=[*callbacks])
    return float(history.history["loss"][-1])


def note(name: str, value: float) -> None:
    done[name] = value
    RESULTS.write_text(json.dumps(done))
    if str(len(done)) == os.environ.get("KILLED_BEHIND"):
        os.kill(os.getpid(), signal.SIGKILL)


if kind == "grid":
    for rate in (0.1, 0.01, 0.001):
        if str(rate) in done:
            continue
        keras.utils.set_random_seed(1)
        note(str(rate), train(rate, 4))
elif kind == "best":
    best = float("inf")
    for rate in (0.1, 0.01, 0.001):
        if str(rate) not in done:
            keras.utils.set_random_seed(1)
            note(str(rate), train(rate, 4))
            best = min(best, done[str(rate)])
elif kind == "noted":
    notes = io.StringIO()
    keras.utils.set_random_seed(1)
    told = keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: notes.write("x"))
    train(0.1, 4, slice(None), told)
    train(0.01, 4)
    print(notes.getvalue())
elif kind == "pretrained":
    keras.utils.set_random_seed(1)
    train(0.1, 4)
    for rate in (0.1, 0.01, 0.001):
        if str(rate) not in done:
            note(str(rate), train(rate, 4))
elif kind == "repeats":
    for seed in range(3):
        if str(seed) not in done:
            keras.utils.set_random_seed(seed)
            note(str(seed), train(0.01, 4))
elif kind == "folds":
    folds = np.array_split(draw.permutation(len(x)), 3)
    for number, held_out in enumerate(folds):
        if str(number) in done:
            continue
        keras.utils.set_random_seed(7)
        note(str(number), train(0.01, 4, np.setdiff1d(np.arange(len(x)), held_out)))
elif kind == "sampler":
    # It forgets what it has drawn, as samplers of studies do.
    sampler = np.random.default_rng(3)
    while len(done) < 3:
        keras.utils.set_random_seed(len(done))
        note(str(len(done)), train(10 ** sampler.uniform(-3, -1), 4))
else:
    chosen = np.random.default_rng(3)
    trials = [(10 ** chosen.uniform(-3, -1), int(chosen.integers(2, 9))) for _ in range(3)]
    while len(done) < len(trials):
        rate, units = trials[len(done)]
        keras.utils.set_random_seed(5)
        note(str(len(done)), train(rate, units))

print(json.dumps(done, sort_keys=True))
