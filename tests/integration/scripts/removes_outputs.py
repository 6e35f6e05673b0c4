"""Removes its folder of outputs first; loads the best weights that the training has saved there."""

import shutil
from pathlib import Path

import keras
import numpy as np

OUT = Path("out")
if OUT.exists():
    shutil.rmtree(OUT)
OUT.mkdir()
keras.utils.set_random_seed(1)
rng = np.random.default_rng(0)
x, y = (rng.normal(size=(320, width)).astype("float32") for width in (4, 1))
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(0.05), "mse")
best = str(OUT / "best.weights.h5")
history = model.fit(
    x,
    y,
    epochs=12,
    verbose=0,
    validation_split=0.5,
    callbacks=[
        keras.callbacks.ModelCheckpoint(best, save_best_only=True, save_weights_only=True),
        keras.callbacks.CSVLogger(str(OUT / "log.csv")),
    ],
)
model.load_weights(best)
print("BEST", int(np.argmin(history.history["val_loss"])))
print("LOSS", float(model.evaluate(x, y, verbose=0)))
"""The best epoch is an early one: a resume does not save it again."""
