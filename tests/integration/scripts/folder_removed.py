"""A training in a temporary folder that is removed while it runs."""

import os
import tempfile
from pathlib import Path

import keras
import numpy as np

folder, kept = tempfile.mkdtemp(), Path(tempfile.mkdtemp())
os.chdir(folder)


class CleanUp(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 1:
            Path(folder).rmdir()


model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
best = keras.callbacks.ModelCheckpoint(kept / "{epoch}.weights.h5", save_weights_only=True)
model.fit(np.ones((8, 4)), np.ones(8), epochs=4, verbose=0, callbacks=[CleanUp(), best])
print("SAVED", len(list(kept.iterdir())))
