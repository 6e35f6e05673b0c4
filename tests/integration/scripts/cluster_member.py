"""One task of a cluster, as its TF_CONFIG says: servers wait, and the chief counts on them.

The chief ends with 7 when it is asked to, late; by itself after so many steps; or fails there.
With a cluster and a task as arguments, no task has a TF_CONFIG, and servers sleep.
"""

from __future__ import annotations

import atexit
import json
import signal
import sys
import time
from pathlib import Path
from types import FrameType

import tensorflow as tf

last_step, ending = int(sys.argv[1]), sys.argv[2]

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if len(sys.argv) > 3:
    cluster, kind = tf.train.ClusterSpec(json.loads(sys.argv[3])), sys.argv[4]
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, rpc_layer="grpc")
    if kind != "chief":
        server = tf.distribute.Server(cluster, job_name=kind, task_index=0)
        while True:
            time.sleep(1)
if resolver.task_type in ("ps", "worker"):
    atexit.register(Path(f"{resolver.task_type}-exit").write_text, "ended")
    left_open = Path(f"{resolver.task_type}-open").open("w")  # noqa: SIM115 - on purpose
    left_open.write("kept")
    tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id
    ).join()
    print("join has returned", flush=True)

asked: list[int] = []


def ask(number: int, _frame: FrameType | None) -> None:
    asked.append(number)


strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    # Not trainable: a chief that trains is saved, and does not end by itself.
    steps = tf.Variable(0, dtype=tf.int64, trainable=False)


@tf.function
def step() -> None:
    steps.assign_add(1)


signal.signal(signal.SIGTERM, ask)
done = 0
while not asked and done != last_step:
    coordinator.schedule(step)
    coordinator.join()
    done += 1
    print(f"trains {done} {int(steps.numpy())}", flush=True)
    time.sleep(0.05)
if asked:
    time.sleep(1.5)
    sys.exit(7)
if ending == "fails":
    raise RuntimeError("the chief has failed")
