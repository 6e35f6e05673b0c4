"""Stands still, or fails, in the way argv[1], once: not where the file argv[2] exists."""

import ctypes
import os
import sys
import threading
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from tiny import BATCH, build_model, make_data

WAY = sys.argv[1]
GATE = Path(sys.argv[2])
AT_STEP = 25


def reached():
    """Whether it is time to stand still, for the first time."""
    if GATE.exists():
        return False
    GATE.touch()
    print("stands still", flush=True)
    return True


def wait_for_ever():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def hold_the_interpreter():
    libc = ctypes.PyDLL(None)
    while True:
        libc.usleep(500_000)


def be_killed():
    os.kill(os.getpid(), 9)


WAITS = {"lock": wait_for_ever, "gil": hold_the_interpreter, "killed": be_killed}


class Callback(keras.callbacks.Callback):
    """Stands still in a callback."""

    def __init__(self, wait):
        super().__init__()
        self.wait = wait
        self.steps = 0

    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1
        if self.steps == AT_STEP and reached():
            self.wait()


class Data(keras.utils.PyDataset):
    """Batches from a pool of processes, one of which may die."""

    def __len__(self):
        return 60

    def __getitem__(self, index):
        if index == AT_STEP and reached():
            os.kill(os.getpid(), 9)
        x, y = make_data(1)
        return x, y


def rows():
    x, y = make_data(batches=60)
    for number, row in enumerate(zip(x, y, strict=True)):
        if WAY == "input" and number == AT_STEP * BATCH and reached():
            time.sleep(10_000)
        if WAY == "read" and number == AT_STEP * BATCH and reached():
            raise OSError(5, "Input/output error", "rows")
        yield row


def main():
    keras.utils.set_random_seed(7)
    model = build_model()
    if WAY in WAITS:
        x, y = make_data()
        callbacks = [Callback(WAITS[WAY])]
        model.fit(x, y, batch_size=BATCH, epochs=3, verbose=2, callbacks=callbacks)
    elif WAY == "worker":
        model.fit(Data(workers=2, use_multiprocessing=True, max_queue_size=4), epochs=2, verbose=2)
    else:
        signature = (tf.TensorSpec((8,), tf.float32), tf.TensorSpec((1,), tf.float32))
        batches = tf.data.Dataset.from_generator(rows, output_signature=signature).batch(BATCH)
        model.fit(batches, steps_per_epoch=20, epochs=3, verbose=2)
    if len(sys.argv) > 3:
        weights = model.get_weights()
        np.savez(sys.argv[3], **{f"weight_{i}": value for i, value in enumerate(weights)})
    if WAY == "exit" and reached():
        threading.Thread(target=time.sleep, args=(10_000,), name="forgotten").start()


if __name__ == "__main__":
    main()
