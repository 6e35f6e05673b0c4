"""A training whose learning rate follows files that it renames and links.

usage: renames_files.py OUT
"""

import os
import shutil
import sys
from pathlib import Path

import keras
import numpy as np

INBOX, DONE, LATEST = map(Path, ("inbox", "done", "latest"))


class Files(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        newest = int(LATEST.readlink().name) if LATEST.is_symlink() else 0
        self.model.optimizer.learning_rate = 0.01 / (1 + newest)

    def on_epoch_end(self, epoch, logs=None):
        file = min(INBOX.iterdir())
        if epoch:
            Path(f"state-{epoch - 1}").rename(f"state-{epoch}")
        shutil.move(file, DONE)
        Path("new").symlink_to(DONE / file.name)
        Path("new").replace(LATEST)


out = Path(sys.argv[1]).absolute()
folder = out.with_suffix(".files")
folder.mkdir(exist_ok=True)
os.chdir(folder)
for folder in (INBOX, DONE):
    folder.mkdir(exist_ok=True)
if not any(DONE.iterdir()):
    for number in range(9):
        (INBOX / str(number)).touch()
    np.save("state", np.zeros(20_000))
    Path("state.npy").rename("state-0")
keras.utils.set_random_seed(4)
x = np.random.default_rng(0).normal(size=(64, 6)).astype("float32")
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x.sum(1), epochs=8, batch_size=16, verbose=0, callbacks=[Files()])
found = *sorted(map(str, INBOX.iterdir())), *sorted(map(str, Path().glob("state*"))), LATEST
with out.open("w") as file:
    print(*found, *(each.tobytes().hex() for each in model.get_weights()), file=file)
