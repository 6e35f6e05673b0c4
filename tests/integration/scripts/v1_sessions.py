"""Loops of a MonitoredTrainingSession, in the forms in which people write them.

Arguments: the folder of the checkpoints ("none" for no folder), the last step, the form.
"""

from __future__ import annotations

import sys
import time

import tensorflow.compat.v1 as tf

folder, last_step, form = sys.argv[1], int(sys.argv[2]), sys.argv[3]
tf.disable_v2_behavior()
step = tf.train.get_or_create_global_step()
weights = tf.get_variable("weights", [4], initializer=tf.zeros_initializer())
counter = tf.get_variable("counter", [], tf.int64, tf.zeros_initializer())
count = tf.assign_add(counter, 1)
loss = tf.reduce_mean((weights - 1.0) ** 2)
optimizer = tf.train.GradientDescentOptimizer(0.01)
hooks: list[tf.train.SessionRunHook] = []
before_the_savers: list[tf.train.SessionRunHook] = []
if form == "synchronous":
    # A thread of its queue waits for gradients, and does not end when it is asked to.
    optimizer = tf.train.SyncReplicasOptimizer(optimizer, 1, total_num_replicas=1)
    hooks.append(optimizer.make_session_run_hook(is_chief=True))
elif form == "begun":

    class Worker(tf.train.SessionRunHook):
        """Takes a step before the chief's hooks look at the new session, as a worker may."""

        def after_create_session(self, session: tf.Session, coord: object) -> None:
            session.run(train)

    hooks.append(Worker())
elif form == "not alone":

    class LastStep(tf.train.SessionRunHook):
        """Takes a step before the session is saved at its end, as a worker may."""

        def end(self, session: tf.Session) -> None:
            session.run(train)

    before_the_savers.append(LastStep())
train = optimizer.minimize(loss, global_step=step)
session = tf.train.MonitoredTrainingSession(
    checkpoint_dir=None if folder == "none" else folder,
    hooks=hooks,
    chief_only_hooks=before_the_savers,
    **({"save_checkpoint_steps": 7} if form == "often" else {}),
)


def train_once() -> None:
    session.run(train)
    time.sleep(0.05)
    counted, done = session.run([count, step])
    print(f"trains {done}, counted {counted}", flush=True)


print(f"begins at {session.run(step)}", flush=True)
if form == "never closed":
    while not session.should_stop() and session.run(step) < last_step:
        train_once()
else:
    with session:
        if form == "counted":
            for _ in range(session.run(step), last_step):
                train_once()
        while not session.should_stop() and session.run(step) < last_step:
            train_once()
print("the loop has ended")
