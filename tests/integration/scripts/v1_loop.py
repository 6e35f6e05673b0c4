"""A loop of a Session with a Saver, as people wrote it before there were MonitoredSessions.

Arguments: the folder of its checkpoints, the last step, the form ("global", "counted", "epochs",
"forgetful", "late", "open", "supervised", "synchronous"); its kind of task, and its index.
A chief that is late trains when its worker has, as worker.log says.
"""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from pathlib import Path

import tensorflow.compat.v1 as tf

folder, last_step, form, *place = sys.argv[1:]
tf.disable_v2_behavior()
target, index, device = "", 0, None
if place:
    kind, index = place[0], int(place[1])
    cluster = tf.train.ClusterSpec(
        {"ps": ["127.0.0.1:7301"], "worker": ["127.0.0.1:7302", "127.0.0.1:7303"]}
    )
    server = tf.train.Server(cluster, job_name=kind, task_index=index)
    if kind == "ps":
        server.join()
    target = server.target
    worker = f"/job:worker/task:{index}"
    device = tf.train.replica_device_setter(worker_device=worker, cluster=cluster)

with tf.device(device):
    weights = tf.get_variable("weights", [4], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean((weights - 1.0) ** 2)
    done = tf.get_variable("done", [], tf.int64, tf.zeros_initializer(), trainable=False)
    if form == "counted":
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
        with tf.control_dependencies([train]):
            train = tf.assign_add(done, 1).op
    else:
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.GradientDescentOptimizer(0.01)
        if form == "synchronous":
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, 1, total_num_replicas=1)
        train = optimizer.minimize(loss, global_step=step)
        count = tf.assign_add(done, 1)
    saver = tf.train.Saver()
    ready = tf.report_uninitialized_variables()

if form in ("supervised", "synchronous"):
    more = {}
    if form == "synchronous":
        tokens, runner = optimizer.get_init_tokens_op(), optimizer.get_chief_queue_runner()
        more = {
            "local_init_op": optimizer.chief_init_op,
            "ready_for_local_init_op": optimizer.ready_for_local_init_op,
        }
    supervisor = tf.train.Supervisor(
        is_chief=index == 0, logdir=folder, saver=saver, recovery_wait_secs=1, **more
    )
    with supervisor.managed_session(target) as session:
        if form == "synchronous":
            session.run(tokens)
            supervisor.start_queue_runners(session, [runner])
        print(f"begins at {session.run(step)}", flush=True)
        while not supervisor.should_stop():
            counted = int(session.run([train, step])[1])
            print(f"trains {counted}", flush=True)
            if counted >= int(last_step):
                break
            time.sleep(0.03)
    print("the loop has ended")
    sys.exit(0)

Path(folder).mkdir(exist_ok=True)
opened = tf.Session(target)
with nullcontext(opened) if form == "open" else opened as session:
    if index == 0:
        session.run(tf.global_variables_initializer())
        latest = None if form == "forgetful" else tf.train.latest_checkpoint(folder)
        if latest:
            saver.restore(session, latest)
    else:
        while session.run(ready).size:
            time.sleep(0.1)
    counted = int(session.run(done))
    print(f"begins at {counted}", flush=True)
    while form == "late" and index == 0 and b"trains" not in Path("worker.log").read_bytes():
        time.sleep(0.1)
    while counted < int(last_step):
        session.run(train)
        before, counted = counted, int(session.run(done if form == "counted" else count))
        print(f"trains {counted}", flush=True)
        time.sleep(0.03)
        if index == 0 and counted // 10 > before // 10:
            number = {"epochs": counted // 10, "counted": counted}.get(form)
            saver.save(session, f"{folder}/model", step if number is None else number)
print("the loop has ended")
