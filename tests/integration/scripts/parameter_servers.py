"""Counts the steps of workers in variables on parameter servers: in each shard, and in slots.

Arguments: how many epochs, and how many steps each.  The pace of a step is that of the tests: that
of the first half of all steps, and that of the others.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np
import tensorflow as tf

EPOCHS, STEPS = int(sys.argv[1]), int(sys.argv[2])
PACES_SECONDS = [float(each) for each in (os.environ.get("SAMPLE_PACE") or "0").split(",")]

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("ps", "worker"):
    tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id
    ).join()

partitioner = tf.distribute.experimental.partitioners.FixedShardsPartitioner(2)
strategy = tf.distribute.ParameterServerStrategy(resolver, variable_partitioner=partitioner)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    counts = tf.Variable(tf.zeros([4], tf.int64), name="counts")
    total = tf.Variable(0, dtype=tf.int64, name="total")
    of_epoch = tf.Variable(0, dtype=tf.int64, name="of_epoch", trainable=False)
own = tf.Variable(0, dtype=tf.int64, name="own", trainable=False)
slots: list[Any] = []


def dataset(_context: Any) -> tf.data.Dataset:
    return tf.data.Dataset.from_tensors(tf.constant(1, tf.int64)).repeat()


def pause(done: Any) -> None:
    time.sleep(PACES_SECONDS[-1 if 2 * int(done) >= EPOCHS * STEPS else 0])


@tf.function
def step(iterator: Any) -> Any:
    if not slots:
        # Created late, as an optimizer does.
        slots.append(tf.Variable(tf.zeros([4], tf.int64), name="slot"))
    if any(PACES_SECONDS):
        tf.py_function(pause, [total.read_value()], [])
    one = next(iterator)
    for shard in (*counts.variables, *slots):
        shard.assign_add(tf.fill(tf.shape(shard), one))
    of_epoch.assign_add(one)
    return total.assign_add(one)


@tf.function
def datasets() -> Any:
    return strategy.distribute_datasets_from_function(dataset)


iterator = iter(coordinator.create_per_worker_dataset(datasets))
random = np.random.default_rng(7)
first: list[Any] = []
for epoch in range(EPOCHS):
    of_epoch.assign(0)
    own.assign_add(1)
    for _ in range(STEPS):
        first.append(coordinator.schedule(step, args=(iterator,)))
        print(f"schedules {len(first)}", flush=True)
    coordinator.join()
    done, draw = int(of_epoch.numpy()), random.integers(1 << 30)
    print(f"epoch {epoch} {done} {int(total.numpy())} {draw}", flush=True)
last = coordinator.schedule(step, args=(iterator,))
print(f"fetched {sorted(int(each.fetch()) for each in (*first, last))[-1]}", flush=True)
shards = [each.numpy().tolist() for each in counts.variables]
print(f"ends {shards} {[each.numpy().tolist() for each in slots]} {int(own.numpy())}", flush=True)
