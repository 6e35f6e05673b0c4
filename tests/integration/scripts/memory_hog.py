"""A callback keeps 16 MiB more after every batch, up to argv[1] MiB (4096).

Meant for a memory cgroup with a smaller limit; the bound spares the machine
when there is none.
"""

import sys

import keras
import numpy as np
from tiny import fit

LIMIT_MIB = int(sys.argv[1]) if len(sys.argv) > 1 else 4096


class KeepsEverything(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.kept = []

    def on_train_batch_end(self, batch, logs=None):
        if len(self.kept) * 16 < LIMIT_MIB:
            self.kept.append(np.ones(16 << 20, np.uint8))


fit([KeepsEverything()], epochs=LIMIT_MIB // (16 * 20) + 1)
