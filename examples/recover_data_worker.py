"""A data worker is killed: the run continues from its snapshot, seconds later.

    pitstop run --restarts 3 -- python examples/recover_data_worker.py

Without Pitstop, Keras waits forever without a message. The file `worker-died` in the working
folder marks that the fault has happened; remove it to repeat the example.
"""

import os
import signal
import time
from pathlib import Path

import keras
import numpy as np

DIED = Path("worker-died")


class Rows(keras.utils.PyDataset):
    """Batches that two processes make."""

    def __init__(self):
        super().__init__(workers=2, use_multiprocessing=True, max_queue_size=4)

    def __len__(self):
        return 60

    def __getitem__(self, index):
        if index == 40 and not DIED.exists():
            DIED.touch()
            os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does for want of memory
        time.sleep(0.1)  # as if it were read from a disk
        x = np.random.default_rng(index).normal(size=(32, 8)).astype("float32")
        return x, x.sum(axis=1, keepdims=True)


def main():
    keras.utils.set_random_seed(7)
    model = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(Rows(), epochs=2, verbose=2)
    np.savez("worker.npz", *model.get_weights())


if __name__ == "__main__":
    main()
