"""Two workers of a MultiWorkerMirroredStrategy under Ray Train; a killed worker costs no step.

    pip install "ray[train]"
    python examples/cluster_ray.py

Ray starts the workers again after a failure (`max_failures`). Pitstop restores all at one step.
`pitstop stop runs/ray/worker-0` stops all of them; the same command continues there.
"""

import argparse
import hashlib
import os
from pathlib import Path

import numpy as np
import ray
import tensorflow as tf
from ray import train
from ray.train.tensorflow import TensorflowTrainer

import pitstop


def train_worker(config):
    """Runs in each worker, with the TF_CONFIG that Ray has set."""
    rank = train.get_context().get_world_rank()
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weights = tf.Variable(tf.zeros([4, 1]))
    x = np.random.default_rng(rank).normal(size=(512, 4)).astype("float32")
    rows = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True)))
    batches = iter(rows.shuffle(512, seed=3).repeat().batch(8))

    def update(batch):
        inputs, wanted = batch
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((inputs @ weights - wanted) ** 2)
        gradient = tape.gradient(loss, weights)
        mean = tf.distribute.get_replica_context().all_reduce("mean", gradient)
        weights.assign_sub(0.01 * mean)
        return loss

    @tf.function
    def train_step(batch):
        return strategy.run(update, args=(batch,))

    run = pitstop.start(
        f"{config['folder']}/worker-{rank}",
        weights=weights,
        batches=batches,
        every_steps=100,
        on_stop="return",
    )
    for _ in run.steps(config["steps"]):
        run.log(loss=train_step(next(batches)))
    digest = hashlib.sha256(weights.numpy().tobytes()).hexdigest()[:16]
    ending = "stopped" if run.stopped else "complete"
    print(f"worker {rank} is {ending}: weights {digest}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--folder", type=Path, default=Path("runs/ray"))
    asked = parser.parse_args()
    address = os.environ.get("RAY_NODE_IP_ADDRESS", "127.0.0.1")
    ray.init(include_dashboard=False, num_cpus=asked.workers + 1, _node_ip_address=address)
    TensorflowTrainer(
        train_worker,
        train_loop_config={"steps": asked.steps, "folder": str(asked.folder.absolute())},
        scaling_config=train.ScalingConfig(num_workers=asked.workers),
        run_config=train.RunConfig(
            storage_path=str(asked.folder.absolute() / "ray"),
            failure_config=train.FailureConfig(max_failures=3),
        ),
    ).fit()


if __name__ == "__main__":
    main()
