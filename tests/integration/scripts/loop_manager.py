"""A loop that restores itself from its own checkpoints; its argument: how it looks for them."""

import sys
import time

import tensorflow as tf

tf.random.set_seed(1)
weights, step = tf.Variable(tf.ones([4])), tf.Variable(0, dtype=tf.int64, trainable=False)
checkpoint = tf.train.Checkpoint(weights=weights, step=step)
manager = tf.train.CheckpointManager(checkpoint, "saved", max_to_keep=2)
if sys.argv[1] == "manager":
    checkpoint.restore(manager.latest_checkpoint)
elif sys.argv[1] == "restore_or_initialize":
    manager.restore_or_initialize()
elif (newest := tf.train.latest_checkpoint("saved")) and sys.argv[1] == "latest":
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
    time.sleep(0.01)
