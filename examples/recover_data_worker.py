"""A data worker that is killed: the run goes on at its snapshot, seconds later.

    pitstop run --restarts 3 -- python examples/recover_data_worker.py

Without Pitstop Keras waits for ever, without a word. The file `worker-died` in the working folder
says that it has happened; remove it to see it again.
"""

import os
import signal
import time
from pathlib import Path

import keras
import numpy as np
from digits_cnn import build_model, load_data

DIED = Path("worker-died")


class Digits(keras.utils.PyDataset):
    """Batches of digits, made by two processes."""

    def __init__(self, batch_size=32):
        super().__init__(workers=2, use_multiprocessing=True, max_queue_size=4)
        (self.x, self.y), _ = load_data()
        self.batch_size = batch_size

    def __len__(self):
        return len(self.x) // self.batch_size

    def __getitem__(self, index):
        if index == 30 and not DIED.exists():
            DIED.touch()
            os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does for want of memory
        time.sleep(0.05)  # as if it were read from a disk
        rows = slice(index * self.batch_size, (index + 1) * self.batch_size)
        return self.x[rows], self.y[rows]


def main():
    keras.utils.set_random_seed(7)
    model = build_model()
    model.fit(Digits(), epochs=2, verbose=2)
    np.savez("worker.npz", *model.get_weights())


if __name__ == "__main__":
    main()
