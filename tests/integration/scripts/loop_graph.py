"""A graph-mode loop with `pitstop.start`, interrupted as `loop_api.py` is."""

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from loop_faults import interrupt

import pitstop

v1 = tf.compat.v1
STEPS = 30


def main():
    v1.disable_eager_execution()
    rng = np.random.default_rng(4)
    inputs = v1.placeholder(tf.float32, [None, 6])
    weights = v1.get_variable("weights", [6], initializer=v1.ones_initializer())
    loss = tf.reduce_mean((tf.linalg.matvec(inputs, weights) - 1.0) ** 2)
    train = v1.train.AdamOptimizer(0.05).minimize(loss)
    losses = []
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        run = pitstop.start(sys.argv[2], session=session, rng=rng, losses=losses)
        for step in run.steps(STEPS):
            value, _ = session.run([loss, train], {inputs: rng.normal(size=(8, 6))})
            losses.append(float(value))
            run.log(loss=value)
            interrupt(step)
        np.savez(Path(sys.argv[1]), losses=losses, weights=session.run(weights))


if __name__ == "__main__":
    main()
