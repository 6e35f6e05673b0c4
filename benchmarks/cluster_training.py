"""One task of a small training with a parameter server, in the form of TensorFlow's tutorial."""

from __future__ import annotations

import sys
import time

import tensorflow as tf

last_step = int(sys.argv[1])
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("worker", "ps"):
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id
    )
    server.join()

strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    steps = tf.Variable(0, dtype=tf.int64)


@tf.function
def step() -> None:
    """One closure on some worker."""
    steps.assign_add(1)


done = 0
while done != last_step:
    coordinator.schedule(step)
    coordinator.join()
    done += 1
    print(f"step {done}", flush=True)
    time.sleep(0.02)
