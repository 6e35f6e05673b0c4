"""Counted random ops draw what TensorFlow's own draw, and go on where they were saved."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pitstop.engine.randomness.outside import OUTSIDE
from pitstop.tensorflow import counted_draws, private
from pitstop.tensorflow.counted_draws import CountedDraws

Draw = Callable[[Any], Any]


def in_a_part_for_xla(x: Any) -> Any:
    with tf.xla.experimental.jit_scope():
        return tf.random.normal(tf.shape(x)), tf.random.truncated_normal((3,))


DRAWS: dict[str, Draw] = {
    "normal": lambda x: tf.random.normal(tf.shape(x)),
    "two of half size": lambda x: (
        tf.random.normal((tf.size(x), 5), seed=-7, dtype=tf.float16),
        tf.random.truncated_normal((2,), dtype=tf.bfloat16),
    ),
    "double": lambda x: tf.random.uniform(tf.shape(x), dtype=tf.float64),
    "whole numbers": lambda x: tf.random.uniform(tf.shape(x), 2, 90, dtype=tf.int32, seed=5),
    "more at each call": lambda x: tf.random.uniform(
        (tf.shape(x)[0] * 300,), maxval=2**40, dtype=tf.int64
    ),
    "nothing": lambda x: tf.random.normal((tf.size(x) * 0, 4)),
    "dropout": lambda x: tf.nn.dropout(x, 0.5),
    "in a part for XLA": in_a_part_for_xla,
}
SIZES = (3, 4, 4, 1)


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    counted_draws.watch()
    tf.random.set_seed(11)
    yield
    tf.random.set_seed(11)


class Step:
    """A function that another one calls, as a step of Keras is; counted or not."""

    def __init__(self, draw: Draw, *, counted: bool) -> None:
        tf.random.set_seed(11)
        self.inner = tf.function(draw, reduce_retracing=True)
        self.outer = tf.function(self._call, reduce_retracing=True)
        if counted:
            assert counted_draws.count(self.inner)

    def _call(self, x: Any) -> Any:
        return self.inner(x)

    def run(self, sizes: tuple[int, ...]) -> list[Any]:
        return [tf.nest.map_structure(np.asarray, self.outer(tf.ones((n, 2)))) for n in sizes]

    @property
    def draws(self) -> CountedDraws:
        found = counted_draws.of(self.inner)
        assert found is not None
        return found

    def capture(self) -> Any:
        return self.draws.capture(private.graphs(self.inner))


def same(one: list[Any], other: list[Any]) -> bool:
    pairs = zip(tf.nest.flatten(one), tf.nest.flatten(other), strict=True)
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs)


@pytest.mark.parametrize("name", DRAWS)
def test_counted_ops_draw_the_same_and_go_on(name: str) -> None:
    plain = Step(DRAWS[name], counted=False).run(SIZES)
    begun = Step(DRAWS[name], counted=True)
    assert same(begun.run(SIZES[:2]), plain[:2])
    saved = begun.capture()
    resumed = Step(DRAWS[name], counted=True)
    resumed.draws.restore(saved)
    assert same(resumed.run(SIZES[2:]), plain[2:])
    assert not resumed.draws.doubt
    # What the same process has gone beyond comes back as well.
    resumed.run(SIZES)
    resumed.draws.restore(saved)
    assert same(resumed.run(SIZES[2:]), plain[2:])


def test_a_function_that_creates_variables_is_traced_twice() -> None:
    def creating() -> Draw:
        held: list[Any] = []

        def draw(x: Any) -> Any:
            if not held:
                held.append(tf.Variable(2.0))
            return held[0] * tf.random.normal(tf.shape(x))

        return draw

    plain = Step(creating(), counted=False).run(SIZES)
    begun = Step(creating(), counted=True)
    assert same(begun.run(SIZES[:3]), plain[:3])
    saved = begun.capture()
    resumed = Step(creating(), counted=True)
    resumed.draws.restore(saved)
    assert same(resumed.run(SIZES[3:]), plain[3:])
    assert not resumed.draws.doubt


def test_only_graphs_that_can_be_counted_are() -> None:
    def draw(x: Any) -> Any:
        branch = tf.cond(tf.size(x) > 1, lambda: tf.random.normal(()), lambda: tf.constant(0.0))
        return branch + tf.function(lambda: tf.random.normal(()))()

    assert same(
        Step(draw, counted=True).run(SIZES),
        Step(draw, counted=False).run(SIZES),
    )
    step = Step(draw, counted=True)
    step.run(SIZES)
    assert step.capture() == {}


def test_kernels_that_are_made_anew_begin_anew() -> None:
    def run(*, counted: bool) -> list[Any]:
        step = Step(DRAWS["normal"], counted=counted)
        found = step.run((4, 4))
        tf.random.set_seed(12)
        return found + step.run((4, 4))

    assert same(run(counted=True), run(counted=False))


def test_calls_from_python_draw_by_themselves() -> None:
    def run(*, counted: bool) -> list[Any]:
        step = Step(DRAWS["normal"], counted=counted)
        x = tf.ones((4, 2))
        nested = step.run((4, 4))
        direct = [np.asarray(step.inner(x)) for _ in range(2)]
        return nested + direct + step.run((4,))

    assert same(run(counted=True), run(counted=False))


def test_one_trace_in_two_functions_is_doubted() -> None:
    step = Step(DRAWS["normal"], counted=True)
    step.run((4,))
    assert not step.draws.doubt
    tf.function(step._call)(tf.ones((4, 2)))
    assert "two functions" in step.draws.doubt


def run_directly(*, counted: bool, taped: bool = False) -> tuple[list[Any], CountedDraws | None]:
    """Calls from Python, and one by another function."""
    tf.random.set_seed(11)
    function = tf.function(DRAWS["normal"])
    if counted:
        assert counted_draws.count(function)
        assert not counted_draws.count(function)
    x = tf.ones((4, 2))
    found = [function(x), function(x)]
    found += [tf.function(function)(x)]
    with tf.GradientTape() as tape:
        tape.watch(x)
        found += [function(x)] if taped else []
    return found, counted_draws.of(function)


def test_direct_calls_are_counted_and_others_draw_by_themselves() -> None:
    found, draws = run_directly(counted=True)
    assert same(found, run_directly(counted=False)[0])
    assert draws is not None
    assert not draws.doubt


@pytest.mark.parametrize("in_order", [True, False])
def test_traces_for_other_numbers_of_python_count_by_themselves(*, in_order: bool) -> None:
    def drawn(*, counted: bool) -> list[Any]:
        tf.random.set_seed(11)
        function = tf.function(lambda count, scale: scale * tf.random.normal((count,)))
        if counted:
            assert counted_draws.count(function)
            found.append(counted_draws.of(function))
        return [function(*each) for each in ((2, 1.0), (3, 1.0), (2, 1.0), (2, 0.5), (3, 1.0))]

    found: list[Any] = []
    assert same(drawn(counted=True), drawn(counted=False))

    def other(count: Any) -> Any:
        return tf.random.normal((count[0],)) if isinstance(count, list) else tf.zeros(1)

    function = tf.function(other)
    assert counted_draws.count(function)
    draws = counted_draws.of(function)
    assert draws is not None
    draws.in_order = in_order
    one, two = object(), object()
    for kind in (one, two):
        tf.function(other)  # no other function shares its traces
        function([2, kind])
    assert len(draws.capture(private.graphs(function))) == 2
    assert bool(draws.doubt) is not in_order


def test_a_direct_call_below_a_tape_is_doubted() -> None:
    _, draws = run_directly(counted=True, taped=True)
    assert draws is not None
    assert "tape" in draws.doubt


def test_a_function_with_counted_draws_can_be_exported(tmp_path: Path) -> None:
    class Noise(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec((None, 2), tf.float32)])
        def draw(self, x: Any) -> Any:
            return x + tf.random.normal((2,))

    x, noise = tf.ones((4, 2)), Noise()
    assert counted_draws.count(noise.draw)
    first = noise.draw(x)
    for _ in range(2):
        tf.saved_model.save(noise, str(tmp_path))
        assert same([tf.saved_model.load(str(tmp_path)).draw(x)], [first])
    assert not same([noise.draw(x)], [first])


def test_eager_ops_with_a_seed_of_their_own_are_told() -> None:
    told: list[str] = []
    OUTSIDE.begin(told.append)
    OUTSIDE.begin_steps()
    tf.random.normal((2,))
    tf.function(lambda: tf.random.normal((2,), seed=1))()
    tf.data.Dataset.range(4).shuffle(4, seed=1)
    assert not told
    tf.random.shuffle([1, 2], seed=1)
    OUTSIDE.leave()
    assert __file__ in told[0]


def test_a_parallel_loop_draws_for_each_round() -> None:
    def draw(x: Any) -> Any:
        return tf.vectorized_map(lambda row: row + tf.random.normal((2,)), x)

    step = Step(draw, counted=True)
    assert same(step.run(SIZES), Step(draw, counted=False).run(SIZES))
    assert step.capture() == {}


@pytest.mark.parametrize("is_lazy", [False, True])
def test_first_values_of_variables_are_drawn_apart(is_lazy: bool) -> None:
    def run(*, counted: bool) -> list[Any]:
        tf.random.set_seed(11)
        made: list[Any] = []

        def call(x: Any) -> Any:
            if not made:
                first = functools.partial(tf.random.normal, (2, 2))
                made.append(tf.Variable(first if is_lazy else first()))
            return x @ made[0] + tf.random.normal(tf.shape(x))

        function = tf.function(call)
        assert not counted or counted_draws.count(function)
        found = [made[0].numpy() if made else 0, *(function(tf.ones((n, 2))) for n in SIZES)]
        draws = counted_draws.of(function)
        assert draws is None or (not draws.doubt and len(draws.capture(private.graphs(function))))
        return [*found, made[0]]

    assert same(run(counted=True), run(counted=False))


def test_another_trace_than_the_saved_one_is_doubted() -> None:
    begun = Step(DRAWS["normal"], counted=True)
    begun.run((4, 4))
    saved = begun.capture()
    other = Step(DRAWS["normal"], counted=True)
    other.draws.restore(saved)
    other.run((5,))
    assert "another input" in other.draws.doubt
    more = Step(lambda x: (DRAWS["normal"](x), DRAWS["normal"](x)), counted=True)
    more.draws.restore(saved)
    more.run((4,))
    assert "other ops" in more.draws.doubt


def test_a_trace_for_any_size_serves_calls_for_one_size() -> None:
    plain = Step(DRAWS["normal"], counted=False).run((3, 4, 5, 4, 4))
    begun = Step(DRAWS["normal"], counted=True)
    begun.run((3, 4, 5))
    saved = {name: draws for name, draws in begun.capture().items() if "None" in name}
    resumed = Step(DRAWS["normal"], counted=True)
    resumed.draws.restore(saved)
    assert same(resumed.run((4, 4)), plain[3:])


def test_replicas_of_a_mirrored_strategy_are_counted() -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])

    def draw(x: Any) -> Any:
        return strategy.run(lambda x: (tf.nn.dropout(x, 0.5), tf.random.normal((2,))), args=(x,))

    plain = Step(draw, counted=False).run(SIZES)
    begun = Step(draw, counted=True)
    assert same(begun.run(SIZES[:2]), plain[:2])
    saved = begun.capture()
    resumed = Step(draw, counted=True)
    resumed.draws.restore(saved)
    assert same(resumed.run(SIZES[2:]), plain[2:])


def test_a_strategy_whose_replicas_may_run_elsewhere_is_not_counted() -> None:
    with tf.distribute.OneDeviceStrategy("CPU:0").scope():
        assert not counted_draws.count(tf.function(DRAWS["dropout"]))
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        assert counted_draws.count(tf.function(DRAWS["dropout"]))
