"""How the batches come: arrays, pipelines, record files, generators, pools of processes.

`FAULT_DATA` names what is wrong with them: nothing, or one of the words below.
"""

import os
import random
import signal
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from faults import leak, segfault
from models import BATCH, BATCHES
from place import wait_for_strike

WRONG = os.environ.get("FAULT_DATA", "")
AT_BATCH = 25
_FILE = "train.tfrecord"


def arrays(x, y):
    """The arrays as they are, with what is wrong in the middle of them."""
    if WRONG == "label":
        y[200] = 77
    if WRONG == "nan":
        x[200] = np.nan
    return x, y


def pipeline(x, y):
    """A shuffled `tf.data` pipeline."""
    data = tf.data.Dataset.from_tensor_slices(arrays(x, y))
    if WRONG == "missing":
        tf.io.read_file("images/labels.csv")
    if WRONG == "empty":
        data = data.filter(lambda *_: False)
    if WRONG == "exhausted":
        return data.take(15 * BATCH).batch(BATCH)
    return data.shuffle(64, seed=1).batch(BATCH)


def records(x, y):
    """Record files, written before and then damaged as files get damaged."""
    shapes = [x.shape[1:], y.shape[1:]]
    with tf.io.TFRecordWriter(_FILE) as writer:
        for row, label in zip(x, y, strict=True):
            features = [row.astype("float32").tobytes(), np.asarray(label, y.dtype).tobytes()]
            writer.write(b"".join(features))
    _damage(Path(_FILE))
    size = int(np.prod(shapes[0])) * 4

    def parse(text):
        row = tf.reshape(tf.io.decode_raw(tf.strings.substr(text, 0, size), tf.float32), shapes[0])
        rest = tf.strings.substr(text, size, y.dtype.itemsize * int(np.prod(shapes[1])))
        return row, tf.reshape(tf.io.decode_raw(rest, y.dtype), shapes[1])

    return tf.data.TFRecordDataset(_FILE).map(parse).batch(BATCH)


def _damage(path):
    data = bytearray(path.read_bytes())
    if WRONG == "corrupt":
        at = random.Random(1).randrange(len(data) // 2, len(data))
        data[at : at + 64] = bytes(64)
        path.write_bytes(data)
    if WRONG == "cut":
        path.write_bytes(data[: len(data) * 2 // 3])
    if WRONG == "unreadable":
        path.rename("remote.tfrecord")
        path.symlink_to("remote.tfrecord")


def generator(x, y):
    """Rows of a Python generator."""

    def rows():
        while True:
            for number, (row, label) in enumerate(zip(x, y, strict=True)):
                _meet_row(number)
                yield row if WRONG != "shape" or number < 300 else row[:-1], label

    specs = [tf.TensorSpec((None, *x.shape[2:]) if WRONG == "shape" else x.shape[1:], x.dtype)]
    specs.append(tf.TensorSpec(y.shape[1:], y.dtype))
    return tf.data.Dataset.from_generator(rows, output_signature=tuple(specs)).batch(BATCH)


def _meet_row(number):
    if WRONG == "raises" and number == 300:
        int("12,5")
    if WRONG == "stalls" and number == 300:
        time.sleep(600)
    if WRONG == "slow":
        time.sleep(0.01)


class Data(keras.utils.PyDataset):
    """Batches from a pool of two processes."""

    def __init__(self, x, y, **settings):
        super().__init__(**settings)
        self.x, self.y = x, y

    def __len__(self):
        return BATCHES * 3

    def __getitem__(self, index):
        if index == AT_BATCH:
            _meet_batch()
        rows = slice(index % BATCHES * BATCH, (index % BATCHES + 1) * BATCH)
        return self.x[rows], self.y[rows]


def _meet_batch():
    if WRONG == "worker_waits":
        signal.alarm(60)
        wait_for_strike()
    if WRONG == "worker_leaks":
        leak()
    if WRONG == "worker_crashes":
        segfault()
    if WRONG == "worker_raises":
        raise ZeroDivisionError("row without pixels")


def pool(x, y):
    """A `PyDataset` that is read by other processes."""
    return Data(*arrays(x, y), workers=2, use_multiprocessing=True, max_queue_size=4)


INPUTS = {
    "arrays": arrays,
    "pipeline": pipeline,
    "records": records,
    "generator": generator,
    "pool": pool,
}
