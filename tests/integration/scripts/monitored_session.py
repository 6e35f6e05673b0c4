"""A MonitoredTrainingSession that saves what it has at its end; with flags, a task of a cluster.

Arguments: the folder of its checkpoints, the last step; its kind of task, and its index; and
"synchronous", where a step needs the gradients of both workers.  Worker 1 is killed behind a step
once there is a file `lost`.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import tensorflow.compat.v1 as tf

folder, last_step, *place = sys.argv[1:]
cluster = tf.train.ClusterSpec(
    {"ps": ["127.0.0.1:7201"], "worker": ["127.0.0.1:7202", "127.0.0.1:7203"]}
)
tf.disable_v2_behavior()
master, index, device = "", 0, None
synchronous = place[2:] == ["synchronous"]
hooks: list[tf.train.SessionRunHook] = [tf.train.StopAtStepHook(last_step=int(last_step))]
if place:
    kind, index = place[0], int(place[1])
    server = tf.train.Server(cluster, job_name=kind, task_index=index)
    if kind == "ps":
        server.join()
    master = server.target
    worker = f"/job:worker/task:{index}"
    device = tf.train.replica_device_setter(worker_device=worker, cluster=cluster)

with tf.device(device):
    step = tf.train.get_or_create_global_step()
    weights = tf.get_variable("weights", [4], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean((weights - 1.0) ** 2)
    optimizer = tf.train.GradientDescentOptimizer(0.01)
    if synchronous:
        optimizer = tf.train.SyncReplicasOptimizer(optimizer, 2, total_num_replicas=2)
        # Without a token to spare no worker can take the steps of another one.
        hooks.append(optimizer.make_session_run_hook(index == 0, num_tokens=0))
    train = optimizer.minimize(loss, global_step=step)

print("opens a session", flush=True)
with tf.train.MonitoredTrainingSession(
    master=master,
    is_chief=index == 0,
    checkpoint_dir=None if folder == "none" else folder,
    hooks=hooks,
) as session:
    print(f"begins at {session.run(step)}", flush=True)
    done = 0
    while not session.should_stop():
        _, done = session.run([train, step])
        print(f"trains {done}", flush=True)
        if index and Path("lost").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.05)
print(f"ends at {done}", flush=True)
