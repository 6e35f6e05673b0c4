"""Counts the steps of a `fit` of Keras 2 in variables on parameter servers, shards and metrics.

Arguments: how many epochs, and how many steps each.  The pace of a step is that of the tests.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras as keras

EPOCHS, STEPS = int(sys.argv[1]), int(sys.argv[2])
PACE_SECONDS = float(os.environ.get("SAMPLE_PACE") or 0)

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("ps", "worker"):
    tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id
    ).join()


def dataset_of(_context: Any) -> tf.data.Dataset:
    x = np.random.default_rng(1).normal(size=(640, 8)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, x[:, :1])).repeat().batch(16)


class Counted(keras.Sequential):
    """Counts in each shard, and in a metric of the epoch."""

    def __init__(self, layers: Any) -> None:
        super().__init__(layers)
        self.counts = tf.Variable(tf.zeros([4], tf.int64), trainable=False, name="counts")
        self.seen = keras.metrics.Sum(name="seen")

    def train_step(self, data: Any) -> Any:
        if PACE_SECONDS:
            tf.py_function(lambda: time.sleep(PACE_SECONDS), [], [])
        for shard in self.counts.variables:
            shard.assign_add(tf.ones_like(shard))
        self.seen.update_state(1.0)
        return super().train_step(data)


class Tell(keras.callbacks.Callback):
    """Says what it has seen of each epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.told = 0

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.told += 1
        steps, draw = int(self.model.optimizer.iterations.numpy()), np.random.randint(1 << 30)
        print(f"epoch {epoch} {int(logs['seen'])} {steps} {self.told} {draw}", flush=True)


keras.utils.set_random_seed(7)
partitioner = tf.distribute.experimental.partitioners.FixedShardsPartitioner(2)
with tf.distribute.ParameterServerStrategy(resolver, variable_partitioner=partitioner).scope():
    model = Counted([keras.layers.Dense(16), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.01), "mse")
creator = keras.utils.experimental.DatasetCreator(dataset_of)
history = model.fit(
    creator,
    epochs=EPOCHS,
    steps_per_epoch=STEPS,
    validation_data=creator,
    validation_steps=2,
    verbose=0,
    callbacks=[Tell()],
)
held = [each.numpy().tolist() for each in model.counts.variables]
held += [int(model.optimizer.iterations.numpy()), int(model._train_counter.numpy())]
print(f"ends {held} {history.epoch} {[len(each) for each in history.history.values()]}", flush=True)
