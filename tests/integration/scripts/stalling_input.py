"""The input blocks after argv[2] batches (25) until the file argv[1] exists."""

import sys
import time
from pathlib import Path

import tensorflow as tf
from tiny import BATCH, build_model, make_data

GATE = Path(sys.argv[1])
BATCHES_BEFORE = int(sys.argv[2]) if len(sys.argv) > 2 else 25


def rows():
    x, y = make_data(batches=60)
    for number, row in enumerate(zip(x, y, strict=True)):
        if number == BATCHES_BEFORE * BATCH:
            print("input waits", flush=True)
            while not GATE.exists():
                time.sleep(0.05)
        yield row


signature = (tf.TensorSpec((8,), tf.float32), tf.TensorSpec((1,), tf.float32))
batches = tf.data.Dataset.from_generator(rows, output_signature=signature).batch(BATCH)
build_model().fit(batches, steps_per_epoch=20, epochs=3, verbose=2)
