"""One of several workers that train one model together, in a loop of its own; see `main`."""

import functools
import hashlib
import json
import os
import sys
import time

import numpy as np
import tensorflow as tf

BATCH = 32
FEATURES = 8
ON_READ = tf.VariableSynchronization.ON_READ


EPOCH_STEPS = 30
"""So many batches has an epoch of the form of TensorFlow's tutorial; two more are not drawn."""


def batches():
    rng = np.random.default_rng(3)
    features = rng.normal(size=(1024, FEATURES)).astype("float32")
    labels = (features @ rng.normal(size=(FEATURES, 1)).astype("float32")).astype("float32")
    dataset = tf.data.Dataset.from_tensor_slices((features, labels))
    return dataset.shuffle(1024, seed=5).repeat().batch(BATCH)


def share_of(context):
    """A worker's own part, which ends."""
    rows = batches().unbatch().take((EPOCH_STEPS + 2) * BATCH)
    shares = rows.shard(context.num_input_pipelines, context.input_pipeline_id)
    return shares.batch(context.get_per_replica_batch_size(BATCH))


def handled(step, resolver, **state):
    """What runs a step for TensorFlow's handler of preemptions, and how many it has run."""
    saved = tf.train.Checkpoint(**state)
    handler = tf.distribute.experimental.PreemptionCheckpointHandler(resolver, saved, "handled")
    return functools.partial(handler.run, step), handler.total_run_calls


class EpochLosses:
    """What the losses of an epoch add up to, on each worker for itself until it is read."""

    def __init__(self):
        self._sum = tf.Variable(
            0.0, False, synchronization=ON_READ, aggregation=tf.VariableAggregation.SUM
        )
        self.add = self._sum.assign_add
        self.sums = []

    def end_step(self, step):
        if step % EPOCH_STEPS == 0:
            self.sums.append(float(self._sum.read_value()))
            self._sum.assign(0.0)


def prepared(strategy, form):
    if form == "inside":
        return strategy.distribute_datasets_from_function(share_of)
    return strategy.experimental_distribute_dataset(batches())


def main(steps: int, pause_seconds: float, form: str = "outside") -> None:
    """Takes so many steps, the last of which prints a digest of all variables and sums of losses.

    The batch is drawn outside of the step, or inside, as in TensorFlow's tutorial; with "handler",
    steps are run as in its guide to fault tolerance.
    """
    tf.random.set_seed(7)
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    strategy = tf.distribute.MultiWorkerMirroredStrategy(resolver)
    dataset = prepared(strategy, form)
    with strategy.scope():
        noise = tf.random.Generator.from_seed(11)
        weights = tf.Variable(tf.random.normal((FEATURES, 16)), name="weights")
        head = tf.Variable(tf.random.normal((16, 1)), name="head")
        momentum = [
            tf.Variable(tf.zeros_like(each), trainable=False, name="m") for each in (weights, head)
        ]
        epochs = EpochLosses()

    def replica_step(features, labels):
        with tf.GradientTape() as tape:
            hidden = tf.tanh(features @ weights + 0.1 * noise.normal((16,)))
            loss = tf.reduce_sum((tf.nn.dropout(hidden, 0.1) @ head - labels) ** 2) / BATCH
        gradients = tape.gradient(loss, [weights, head])
        gradients = tf.distribute.get_replica_context().all_reduce("sum", gradients)
        for variable, slot, gradient in zip((weights, head), momentum, gradients, strict=True):
            slot.assign(0.9 * slot + gradient)
            variable.assign_sub(0.01 * slot)
        epochs.add(loss)
        return loss

    @tf.function
    def train_step(batch):
        losses = strategy.run(replica_step, args=batch)
        return strategy.reduce("sum", losses, axis=None)

    @tf.function
    def tutorial_step(iterator):
        losses = strategy.run(replica_step, args=next(iterator))
        return strategy.reduce("sum", losses, axis=None)

    run, done = train_step, 0
    if form == "handler":
        run, done = handled(train_step, resolver, w=weights, h=head, momentum=momentum, noise=noise)
    batch_of = iter(dataset)
    for step in range(done + 1, steps + 1):
        if form == "inside":
            batch_of = iter(dataset) if step % EPOCH_STEPS == 0 else batch_of
            loss = float(tutorial_step(batch_of))
        else:
            loss = float(run(next(batch_of)))
        epochs.end_step(step)
        print(f"step {step} {loss:.6f}", flush=True)
        # A job that Slurm has requeued goes on at full speed, or it would meet its limit again.
        time.sleep(0 if os.environ.get("SLURM_RESTART_COUNT") else pause_seconds)
    held = b"".join(v.numpy().tobytes() for v in (weights, head, *momentum))
    digest = hashlib.sha256(held + repr(epochs.sums).encode())
    task = json.loads(os.environ["TF_CONFIG"])["task"]
    print(f"DIGEST {task['index']} {digest.hexdigest()[:16]}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), *sys.argv[3:])
