"""What is traced is known for the function that it is traced for, whatever thread does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.framework.func_graph import FuncGraph

from pitstop.replay.calls import FunctionCall
from pitstop.replay.traced import TracedFunctions
from pitstop.tensorflow import private
from pitstop.tensorflow.pipelines import drawn_inputs
from pitstop.tensorflow.traced_ops import OpKind


class Doubts:
    """In the place of a loop."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def doubt(self, reason: str) -> None:
        if reason:
            self.reasons.append(reason)

    def give_up(self, reason: str) -> None:
        self.reasons.append(f"gives up: {reason}")


def test_a_hidden_random_op_in_the_thread_of_a_replica_is_seen() -> None:
    traced = TracedFunctions()
    private.on_traced_op({OpKind.RANDOM: traced.random_op})
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])

    @tf.function
    def step() -> tf.Tensor:
        return strategy.run(lambda: tf.random.uniform(()))

    call = FunctionCall(step, step, (), {})
    with traced.running(call):
        call.run()
    doubts = Doubts()
    traced.judge(doubts, call)  # type: ignore[arg-type]
    [reason] = doubts.reasons
    assert "RandomUniform" in reason


def numbers() -> Any:
    return iter(tf.data.Dataset.range(20))


def draws_twice(batches: Any) -> Any:
    return next(batches) + next(batches)


def draws_in_a_loop(batches: Any) -> Any:
    total = tf.constant(0, tf.int64)
    for _ in tf.range(2):
        total += next(batches)
    return total


def draws_in_another(batches: Any) -> Any:
    return tf.function(draws_twice)(batches)


def draws_numbers_in_another() -> Any:
    return tf.function(lambda: tf.random.uniform(()))()


HELD = numbers()


def draws_from_what_it_holds(_batches: Any) -> Any:
    return next(HELD)


@pytest.fixture(scope="module")
def traced() -> Iterator[TracedFunctions]:
    """What is traced is told to it, until the last test of this file."""
    found = TracedFunctions()
    replaced = ((FuncGraph, "_create_op_internal"), *drawn_inputs.NEEDED)
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in replaced:
            patch.setattr(owner, name, getattr(owner, name))
        private.on_traced_op({OpKind.INPUT: found.input_op})
        drawn_inputs.on_draw(found.draws, found.reads)
        yield found


def call_of(traced: TracedFunctions, function: Callable[..., Any], *args: Any) -> FunctionCall:
    """A call of it as a `tf.function`, which has been made."""
    compiled = tf.function(function)
    call = FunctionCall(compiled, lambda: compiled(*args), args, {})
    with traced.running(call):
        call.run()
    return call


def test_draws_from_an_argument_are_counted_and_made_up_for(traced: TracedFunctions) -> None:
    batches = numbers()
    call = call_of(traced, draws_twice, batches)
    assert traced.drawn_by(call) == 2
    call.run()
    drawn_inputs.skip(batches, 2)
    assert int(next(batches)) == 6
    doubts = Doubts()
    traced.judge(doubts, call)  # type: ignore[arg-type]
    assert doubts.reasons == []


@pytest.mark.parametrize("function", [draws_in_a_loop, draws_in_another, draws_from_what_it_holds])
def test_draws_that_cannot_be_counted(
    traced: TracedFunctions, function: Callable[..., Any]
) -> None:
    doubts = Doubts()
    traced.judge(doubts, call_of(traced, function, numbers()))  # type: ignore[arg-type]
    [reason] = doubts.reasons
    assert reason.startswith(f"gives up: {function.__name__} reads its own input")


def test_draws_from_two_iterators_are_not_counted(traced: TracedFunctions) -> None:
    call = call_of(traced, lambda one, other: next(one) + next(other), numbers(), numbers())
    assert traced.drawn_by(call) is None


def test_traces_that_draw_differently_are_not_counted(traced: TracedFunctions) -> None:
    def draws(batches: Any, many: bool) -> Any:
        return next(batches) + next(batches) if many else next(batches)

    batches, compiled = numbers(), tf.function(draws)
    call = FunctionCall(compiled, lambda: compiled(batches, False), (batches, False), {})
    with traced.running(call):
        call.run()
        assert traced.drawn_by(call) == 1
        compiled(batches, True)
    assert traced.drawn_by(call) is None


@pytest.mark.parametrize(
    ("function", "args", "told"),
    [
        (lambda: tf.random.normal(()), (), "RandomStandardNormal in a graph"),
        (draws_numbers_in_another, (), "RandomUniform in a graph"),
        (draws_twice, (numbers(),), "gives up: draws_twice reads its own input"),
    ],
)
def test_what_was_traced_before_the_call_is_seen(
    traced: TracedFunctions, function: Callable[..., Any], args: tuple[Any, ...], told: str
) -> None:
    concrete = tf.function(function).get_concrete_function(*args)
    call = FunctionCall(concrete, lambda: concrete(*args), args, {})
    with traced.running(call):
        call.run()
    doubts = Doubts()
    for _ in range(2):
        traced.judge(doubts, call)  # type: ignore[arg-type]
    assert all(told in reason for reason in doubts.reasons)
    assert len(doubts.reasons) == 2


def test_a_function_that_marks_parts_for_xla_is_doubted() -> None:
    @tf.function
    def step(value: Any) -> Any:
        with tf.xla.experimental.jit_scope():
            return value + 1.0

    traced, doubts = TracedFunctions(), Doubts()
    call = FunctionCall(step, lambda: step(tf.constant(1.0)), (), {})
    with traced.running(call):
        call.run()
    traced.judge(doubts, call)  # type: ignore[arg-type]
    [reason] = doubts.reasons
    assert reason.startswith("step marks parts of its graph for XLA")


def _noised(x: Any) -> Any:
    return tf.cast(x, tf.float32) + tf.random.uniform(())


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (tf.data.Dataset.range(9).map(_noised), ""),
        (tf.data.Dataset.range(9).map(tf.abs, num_parallel_calls=2).shuffle(9), ""),
        (tf.data.Dataset.range(9).map(_noised, num_parallel_calls=2), "RandomUniform"),
        (tf.data.Dataset.range(9).map(tf.abs, 2, deterministic=False), "deterministic=False"),
    ],
    ids=["noise", "parallel", "parallel noise", "any order"],
)
def test_an_input_that_differs_in_each_reading_is_told_as_soon_as_it_is_read(
    data: Any, words: str
) -> None:
    traced = TracedFunctions()
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in drawn_inputs.NEEDED:
            patch.setattr(owner, name, getattr(owner, name))
        drawn_inputs.on_draw(traced.draws, traced.reads)
        batch = next(iter(data))
    call, doubts = call_of(traced, lambda each: each + 1, batch), Doubts()
    traced.judge(doubts, call)  # type: ignore[arg-type]
    assert len(doubts.reasons) == bool(words)
    assert all(words in reason for reason in doubts.reasons)
