"""Random streams go on after a restore as if nothing had been drawn since."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import random_seed

from pitstop.engine.randomness import entropy
from pitstop.engine.values.python_state import Encoder, decode
from pitstop.tensorflow import private, randomness


@pytest.fixture(autouse=True)
def own_streams() -> Iterator[None]:
    """The process' streams as they were, afterwards."""
    before = randomness.capture()
    yield
    random.setstate(before["python"])
    np.random.set_state(before["numpy"])
    unseed()


def unseed() -> None:
    context.context()._seed = None
    context.context()._rng = None


def draw_tensorflow() -> list[float]:
    return [float(x) for x in tf.random.normal([3])] + [float(x) for x in tf.random.uniform([2])]


DRAWS: dict[str, Callable[[], list[float]]] = {
    "python": lambda: [random.random(), random.gauss(0, 1)],
    "numpy": lambda: [*np.random.normal(size=3), np.random.rand()],
    "tensorflow": draw_tensorflow,
    "keras shuffle": lambda: tf.random.shuffle(tf.range(10)).numpy().tolist(),
}


def through_json(state: dict[str, Any]) -> dict[str, Any]:
    encoder = Encoder("")
    text = json.dumps(encoder.encode(state))
    stored = {name: memoryview(array.tobytes()) for name, array in encoder.arrays.items()}
    restored: dict[str, Any] = decode(json.loads(text), stored)
    return restored


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())
def test_a_seeded_stream_goes_on(draw: Callable[[], list[float]]) -> None:
    tf.random.set_seed(7)
    random.seed(7)
    np.random.seed(7)
    draw()
    state = through_json(randomness.capture())
    expected = [draw() for _ in range(3)]
    draw()
    randomness.restore(state)
    assert [draw() for _ in range(3)] == expected


def test_another_seed_set_in_between_is_undone() -> None:
    tf.random.set_seed(7)
    state = randomness.capture()
    expected = draw_tensorflow()
    tf.random.set_seed(8)
    draw_tensorflow()
    randomness.restore(state)
    assert private.eager_seed()[0] == 7
    assert draw_tensorflow() == expected


def test_an_unseeded_process_is_left_alone() -> None:
    unseed()
    state = randomness.capture()
    assert (state["tensorflow_seed"], state["tensorflow_eager"]) == (None, None)
    randomness.restore(state)
    assert private.eager_seed()[0] is None


def test_a_process_without_a_seed_is_given_one() -> None:
    unseed()
    randomness.seed_if_unseeded()
    first, _ = private.eager_seed()
    assert first is not None
    randomness.seed_if_unseeded()
    assert private.eager_seed()[0] == first
    unseed()
    randomness.seed_if_unseeded()
    assert private.eager_seed()[0] != first


def test_the_seed_of_the_script_is_kept() -> None:
    tf.random.set_seed(7)
    draw_tensorflow()
    before = private.eager_seed()
    randomness.seed_if_unseeded()
    assert private.eager_seed() == before


def test_ops_without_a_seed_begin_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    unseed()
    monkeypatch.setattr(entropy, "_current", None)
    monkeypatch.setattr(random_seed, "get_seed", random_seed.get_seed)
    randomness.watch_unseeded_ops()

    def draw(key: str) -> list[list[float]]:
        entropy.use(key)
        # As in another process.
        context.context().clear_kernel_cache()
        randomness._seeds.clear()
        order = tf.data.Dataset.range(20).shuffle(20).as_numpy_iterator()
        return [draw_tensorflow(), tf.function(draw_two)().numpy().tolist(), list(order)]

    def draw_two() -> Any:
        return tf.random.normal([2])

    assert draw("ab12") == draw("ab12")
    assert all(one != other for one, other in zip(draw("ab12"), draw("cd34"), strict=True))
    # What the script seeds is left alone, and so are threads beside the main one.
    assert random_seed.get_seed(5) == (random_seed.DEFAULT_GRAPH_SEED, 5)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(random_seed.get_seed, None).result() == (None, None)
    tf.random.set_seed(7)
    assert random_seed.get_seed(None)[0] == 7


def test_many_draws_do_not_make_many_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    unseed()
    monkeypatch.setattr(entropy, "_current", None)
    monkeypatch.setattr(random_seed, "get_seed", random_seed.get_seed)
    randomness._seeds.clear()
    randomness.watch_unseeded_ops()
    entropy.use("ab12")
    found = [random_seed.get_seed(None) for _ in range(2500)]
    assert len(set(found[:1024])) == len(set(found)) == 1024
    assert found[1024:2048] == found[:1024]
