"""What is traced is known for the function that it is traced for, whatever thread does it."""

from __future__ import annotations

import tensorflow as tf

from pitstop.replay.callee import FunctionCallee
from pitstop.replay.traced import TracedFunctions
from pitstop.tensorflow import private


class Doubts:
    """In the place of a loop."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def doubt(self, reason: str) -> None:
        self.reasons.append(reason)


def test_a_hidden_random_op_in_the_thread_of_a_replica_is_seen() -> None:
    traced = TracedFunctions()
    private.on_hidden_random_op(traced.random_op)
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])

    @tf.function
    def step() -> tf.Tensor:
        return strategy.run(lambda: tf.random.uniform(()))

    callee = FunctionCallee(step)
    with traced.running(callee):
        step()
    doubts = Doubts()
    traced.judge(doubts, callee)  # type: ignore[arg-type]
    [reason] = doubts.reasons
    assert "RandomUniform" in reason
