"""A MonitoredTrainingSession that saves what it has at its end; with flags, a task of a cluster.

Arguments: the folder of its checkpoints, the last step; its kind of task, and its index.
"""

from __future__ import annotations

import sys
import time

import tensorflow.compat.v1 as tf

folder, last_step, *place = sys.argv[1:]
cluster = tf.train.ClusterSpec(
    {"ps": ["127.0.0.1:7201"], "worker": ["127.0.0.1:7202", "127.0.0.1:7203"]}
)
tf.disable_v2_behavior()
master, index, device = "", 0, None
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
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)

print("opens a session", flush=True)
with tf.train.MonitoredTrainingSession(
    master=master,
    is_chief=index == 0,
    checkpoint_dir=None if folder == "none" else folder,
    hooks=[tf.train.StopAtStepHook(last_step=int(last_step))],
) as session:
    print(f"begins at {session.run(step)}", flush=True)
    done = 0
    while not session.should_stop():
        _, done = session.run([train, step])
        print(f"trains {done}", flush=True)
        time.sleep(0.05)
print(f"ends at {done}", flush=True)
