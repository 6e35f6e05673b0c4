"""One task of a cluster, as its TF_CONFIG says; the chief ends with 7 when it is asked to, late.

Argument: how many steps the chief trains by itself.
"""

from __future__ import annotations

import itertools
import signal
import sys
import time
from types import FrameType

import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("ps", "worker"):
    tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id
    ).join()

asked: list[int] = []


def ask(number: int, _frame: FrameType | None) -> None:
    asked.append(number)


strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    weights = tf.Variable(tf.zeros([4]))


@tf.function
def step() -> None:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((weights - 1.0) ** 2)
    weights.assign_sub(0.1 * tape.gradient(loss, weights))


signal.signal(signal.SIGTERM, ask)
for _ in itertools.count() if len(sys.argv) == 1 else range(int(sys.argv[1])):
    coordinator.schedule(step)
    coordinator.join()
    print("trains", flush=True)
    time.sleep(0.05)
    if asked:
        time.sleep(1.5)
        sys.exit(7)
