"""Two loops of `train_on_batch`, with a fit between them; a stop ends the loop, not the script."""

import sys
from pathlib import Path

import keras
import numpy as np
from loop_faults import interrupt

import pitstop


def main():
    keras.utils.set_random_seed(6)
    rng = np.random.default_rng(7)
    model = keras.Sequential(
        [keras.layers.Dense(8, "relu"), keras.layers.Dropout(0.3), keras.layers.Dense(1)]
    )
    model.compile("adam", "mse", metrics=["mae"])
    rows = []
    run = pitstop.start(sys.argv[2], on_stop="return", model=model, rng=rng, rows=rows)

    def train(steps, after):
        for step in run.steps(steps):
            x = rng.normal(size=(16, 4))
            logs = model.train_on_batch(x, x.sum(axis=1), return_dict=True)
            if step == 5:
                logs = model.fit(x, x.sum(axis=1), epochs=2, verbose=0).history
                logs = {name: values[-1] for name, values in logs.items()}
            rows.append([float(logs["loss"]), float(logs["mae"])])
            run.log(**logs)
            interrupt(after + step)

    train(12, 0)
    train(14, 100)
    if not run.stopped:
        weights = {v.path: v.numpy() for v in model.variables}
        np.savez(Path(sys.argv[1]), rows=rows, **weights)


if __name__ == "__main__":
    main()
