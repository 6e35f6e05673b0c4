"""Which runs of a session are steps of a training."""

from __future__ import annotations

import pytest
import tensorflow as tf

from pitstop.tensorflow.sessions.plain_sessions import follows_a_step

v1 = tf.compat.v1


@pytest.mark.parametrize("resources", [True, False])
def test_what_needs_the_step_of_an_optimizer_trains(resources: bool) -> None:
    with tf.Graph().as_default() as graph:
        step = v1.train.get_or_create_global_step()
        weights = v1.get_variable("weights", [2], use_resource=resources)
        loss = tf.reduce_sum(weights**2)
        assert not follows_a_step(graph, loss.op)
        train = v1.train.AdamOptimizer().minimize(loss, global_step=step)
        with tf.control_dependencies([train]):
            averaged = tf.identity(loss)
        grouped = tf.group(train, tf.no_op())
        ready = v1.global_variables_initializer()
        trains = [follows_a_step(graph, each) for each in (train, averaged.op, grouped)]
        assert trains == [True] * 3
        assert not any(follows_a_step(graph, each) for each in (loss.op, ready, step.op))
