"""One of several workers that train one model together; prints each step.

With a folder, steps run under TensorFlow's PreemptionCheckpointHandler, which saves there; then the
moment is printed at which it has saved ("saved", in seconds since the epoch).

    python benchmarks/gang_training.py PAUSE_SECONDS [FOLDER]
"""

from __future__ import annotations

import sys
import time
from typing import NoReturn

import numpy as np
import tensorflow as tf

BATCH = 64
HANDLED = 42
"""The exit code of TensorFlow's handler."""

pause_seconds, folder = float(sys.argv[1]), "".join(sys.argv[2:3])
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
strategy = tf.distribute.MultiWorkerMirroredStrategy(resolver)
features = np.random.default_rng(7).random((1024, 100), dtype=np.float32)
batches = tf.data.Dataset.from_tensor_slices(features).repeat().batch(BATCH)
batch_of = iter(strategy.experimental_distribute_dataset(batches))
with strategy.scope():
    weights = tf.Variable(tf.zeros((100, 100)))


@tf.function
def step(batch: tf.Tensor) -> tf.Tensor:
    """One step of all workers."""

    def of_replica(rows: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((rows @ weights - rows) ** 2) / BATCH
        [gradient] = tape.gradient(loss, [weights])
        gradient = tf.distribute.get_replica_context().all_reduce("sum", gradient)
        weights.assign_sub(0.001 * gradient)
        return loss

    return strategy.reduce("sum", strategy.run(of_replica, args=(batch,)), axis=None)


def leave() -> NoReturn:
    """The handler calls this when it has saved."""
    print(f"saved {time.time():.4f}", flush=True)
    sys.exit(HANDLED)


run = step
if folder:
    handler = tf.distribute.experimental.PreemptionCheckpointHandler(
        resolver,
        tf.train.Checkpoint(weights=weights),
        folder,
        tf.distribute.experimental.TerminationConfig(exit_fn=leave),
    )

    def run(batch: tf.Tensor) -> tf.Tensor:
        """A step, at whose end it may save and leave."""
        return handler.run(step, batch)


done = 0
while True:
    run(next(batch_of))
    done += 1
    print(f"step {done}", flush=True)
    time.sleep(pause_seconds)
