"""A loop that restores itself from its own checkpoints; its argument: how it looks for them.

Or one that removes each of them.
"""

import os
import sys
import time

import tensorflow as tf

tf.random.set_seed(1)
weights = tf.Variable(tf.fill([4], float(os.environ.get("SCALE", "1"))))
step = tf.Variable(0, dtype=tf.int64, trainable=False)
checkpoint = tf.train.Checkpoint(weights=weights, step=step)
manager = tf.train.CheckpointManager(checkpoint, "saved", max_to_keep=2)
if sys.argv[1] == "manager":
    checkpoint.restore(manager.latest_checkpoint)
elif sys.argv[1] == "restore_or_initialize":
    manager.restore_or_initialize()
elif sys.argv[1] == "latest" and (newest := tf.train.latest_checkpoint("saved")):
    checkpoint.restore(newest)


@tf.function
def train(row):
    weights.assign_sub(0.001 * weights * tf.cast(row, tf.float32))
    step.assign_add(1)
    return tf.reduce_sum(weights)


for each in tf.data.Dataset.range(200):
    train(each)
    if int(step) % 10 == 0:
        manager.save()
        if sys.argv[1] == "removes":
            # As workers do that are not the chief, in TensorFlow's tutorial.
            tf.io.gfile.rmtree(manager.directory)
    time.sleep(0.01)

print("weights", weights.numpy().tolist(), "newest", manager.checkpoints)
