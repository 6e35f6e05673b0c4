"""A MonitoredTrainingSession that saves what it has, and ends with 7, when it is asked to."""

from __future__ import annotations

import signal
import sys
import time
from types import FrameType

import tensorflow.compat.v1 as tf

asked: list[int] = []


def ask(number: int, _frame: FrameType | None) -> None:
    asked.append(number)


tf.disable_eager_execution()
step = tf.train.get_or_create_global_step()
weights = tf.get_variable("weights", [4], initializer=tf.zeros_initializer())
loss = tf.reduce_mean((weights - 1.0) ** 2)
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
signal.signal(signal.SIGTERM, ask)
with tf.train.MonitoredTrainingSession(checkpoint_dir=sys.argv[1]) as session:
    while not asked:
        session.run(train)
        print("trains", flush=True)
        time.sleep(0.05)
    time.sleep(1.5)
sys.exit(7)
