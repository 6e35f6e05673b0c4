"""One of two workers that train one model together: task argv[1].

The second worker writes its process number to the file `peer`; the first waits, after 20 steps,
for what is to happen to it.
"""

import json
import os
import sys
import time
from pathlib import Path

PORTS = (20001, 20002)
TASK = int(sys.argv[1])
CLUSTER = {"cluster": {"worker": [f"localhost:{port}" for port in PORTS]}}
os.environ["TF_CONFIG"] = json.dumps({**CLUSTER, "task": {"type": "worker", "index": TASK}})

import tensorflow as tf  # noqa: E402
from place import wait_for_strike  # noqa: E402

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    weights = tf.Variable(tf.zeros((8, 1)))


@tf.function
def step():
    def update():
        x = tf.random.normal((32, 8))
        error = x @ weights - tf.reduce_sum(x, 1, keepdims=True)
        gradient = tf.linalg.matvec(x, error[:, 0], transpose_a=True)[:, None] / 32
        context = tf.distribute.get_replica_context()
        weights.assign_sub(0.1 * context.all_reduce("mean", gradient))
        return tf.reduce_mean(error**2)

    return strategy.run(update)


if TASK == 1:
    Path("peer").write_text(str(os.getpid()))
for done in range(1, 1001):
    loss = step()
    if done == 20 and TASK == 0:
        wait_for_strike(int(Path("peer").read_text()))
    if done % 20 == 0:
        print(f"step {done}: loss {float(strategy.reduce('mean', loss, None)):.4f}", flush=True)
    time.sleep(0.02)
