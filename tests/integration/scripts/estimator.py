"""An Estimator, as train_and_evaluate runs it: alone, or as a task of TF_CONFIG's cluster.

Arguments: the model's folder, the last step.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
folder, last_step = sys.argv[1], int(sys.argv[2])


def inputs() -> tf.data.Dataset:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(64, 4)).astype("float32")
    y = x @ np.array([[1.0], [-2.0], [0.5], [3.0]], "float32")
    return tf.data.Dataset.from_tensor_slices(({"x": x}, y)).shuffle(64).repeat().batch(8)


def evaluated() -> tf.data.Dataset:
    return inputs().take(4)


def model_fn(features: dict[str, Any], labels: Any, mode: str) -> Any:
    weights = v1.get_variable("weights", [4, 1], initializer=v1.zeros_initializer())
    loss = tf.reduce_mean((features["x"] @ weights - labels) ** 2)
    step = v1.train.get_or_create_global_step()
    train = v1.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)
    counter = v1.get_variable("counter", [], tf.int64, v1.zeros_initializer(), use_resource=True)
    with tf.control_dependencies([train]):
        count = counter.assign_add(1)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.group(train, count))


class Slow(v1.train.SessionRunHook):
    """So that a test finds it still training; tells where it is."""

    def begin(self) -> None:
        self.step = v1.train.get_global_step()
        self.counter = next(each for each in v1.global_variables() if "counter" in each.name)

    def after_create_session(self, session: Any, coord: Any) -> None:
        step, counted = session.run([self.step, self.counter])
        print(f"begins at {step}, counted {counted}", flush=True)

    def before_run(self, run_context: Any) -> Any:
        time.sleep(0.02)
        return v1.train.SessionRunArgs(self.step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        print(f"trains {run_values.results}", flush=True)


config = tf.estimator.RunConfig(save_checkpoints_steps=100, log_step_count_steps=10)
estimator = tf.estimator.Estimator(model_fn, model_dir=folder, config=config)
v1.logging.set_verbosity(v1.logging.INFO)
train_spec = tf.estimator.TrainSpec(inputs, max_steps=last_step, hooks=[Slow()])
eval_spec = tf.estimator.EvalSpec(evaluated, steps=4, start_delay_secs=0, throttle_secs=1)
tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)
print("train_and_evaluate has returned", flush=True)
