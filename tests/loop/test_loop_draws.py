"""Functions of a loop go on with the numbers that they would have drawn, or are doubted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.eager.polymorphic_function.concrete_function import ConcreteFunction
from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function

from pitstop.loop.loop_state import LoopDraws
from pitstop.tensorflow import counted_draws


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], tuple[LoopDraws, list[str]]]]:
    counted_draws.watch()
    calls = [(owner, owner.__call__) for owner in (Function, ConcreteFunction)]

    def make() -> tuple[LoopDraws, list[str]]:
        """Those of a new loop, and what it is told."""
        tf.random.set_seed(3)
        doubts: list[str] = []
        draws = LoopDraws(lambda reason: doubts.append(reason) if reason else None)
        for owner, call in calls:
            monkeypatch.setattr(owner, "__call__", call)
        draws.watch()
        return draws, doubts

    yield make
    tf.random.set_seed(3)


def function(name: str = "step", *, hidden: bool = False) -> Any:
    def draw(count: Any) -> Any:
        if hidden:
            return tf.map_fn(lambda n: n + tf.random.normal(()), tf.zeros(count))
        return tf.random.normal((count,))

    draw.__name__ = name
    return tf.function(draw)


def drawn(step: Any, times: int) -> list[float]:
    return [float(tf.reduce_sum(step(tf.constant(3)))) for _ in range(times)]


def test_draws_go_on(watch: Any) -> None:
    begun, doubts = watch()
    step = function()
    drawn(step, 2)
    saved = begun.capture()
    expected = drawn(step, 2)
    resumed, more = watch()
    resumed.restore(saved)
    assert resumed.capture() == saved
    assert drawn(function(), 2) == expected
    assert doubts == more == []


def test_what_was_traced_before_the_loop_is_doubted(watch: Any) -> None:
    step = function()
    drawn(step, 1)
    _, doubts = watch()
    drawn(step, 2)
    [reason] = doubts
    assert "step draws from a hidden random stream (RandomStandardNormal)" in reason


def test_draws_in_a_loop_of_the_function_are_doubted(watch: Any) -> None:
    _, doubts = watch()
    drawn(function(hidden=True), 2)
    assert len(doubts) == 1


def test_functions_of_one_name_are_doubted_while_they_live(watch: Any) -> None:
    _, doubts = watch()
    kept = [function("one"), function("one")]
    for step in kept:
        drawn(step, 1)
    [reason] = doubts
    assert "two functions with the name one" in reason


def relaxed(traced: list[Any], name: str = "step") -> Any:
    def share(rows: Any) -> Any:
        traced.append(rows.shape[0])
        return rows / tf.cast(tf.shape(rows)[0], tf.float32)

    share.__name__ = name
    return tf.function(share, reduce_retracing=True)


@pytest.mark.parametrize("names", [("step",), ("step", "other"), ("step", "step")])
def test_functions_are_traced_for_the_inputs_of_the_earlier_attempt(
    watch: Any, names: tuple[str, ...]
) -> None:
    begun, _ = watch()
    steps = [relaxed([], name) for name in names]
    for count in (3, 7):
        for step in steps:
            step(tf.zeros(count))
    saved = begun.inputs()
    resumed, _ = watch()
    resumed.expect(saved)
    traced: list[Any] = []
    again = [relaxed(traced, name) for name in names]
    assert resumed.inputs() == saved
    again[0](tf.zeros(7))
    # Several with one name may be taken for each other.
    assert traced == [7 if names == ("step", "step") else None]


def test_a_function_that_marks_parts_for_xla_is_doubted(watch: Any) -> None:
    _, doubts = watch()

    def step(value: Any) -> Any:
        with tf.xla.experimental.jit_scope():
            return value + 1.0

    tf.function(step)(tf.constant(1.0))
    [reason] = doubts
    assert reason.startswith("step marks parts of its graph for XLA")
