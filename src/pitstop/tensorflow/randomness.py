"""The random streams of a process: the global ones of Python, NumPy, TensorFlow; the script's."""

import random
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.engine.randomness import entropy
from pitstop.engine.randomness.script_random import ScriptRandom, in_bounds, same
from pitstop.engine.trainings.present_identity import names_on_stack
from pitstop.engine.values.described import digest_of_text
from pitstop.tensorflow import private

_SEED_BITS = 31

_others: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {}
"""Streams of other libraries, by name: how they are taken, and set."""


def also(name: str, capture: Callable[[], Any], restore: Callable[[Any], None]) -> None:
    _others[name] = (capture, restore)


def capture() -> dict[str, Any]:
    seed, eager = private.eager_seed()
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state(),
        "tensorflow_seed": seed,
        "tensorflow_eager": eager,
        "fresh": entropy.drawn(),
        **{name: take() for name, (take, _) in _others.items()},
    }


def of_generators() -> dict[str, str]:
    """Digests of the generators that the script's names lead to."""
    script = ScriptRandom()
    script.look(names_on_stack(), is_part_of_an_input)
    return {name: digest_of_text(repr(state)) for name, state in script.capture().items()}


def of_tensorflow(state: dict[str, Any]) -> dict[str, Any]:
    return {name: state[name] for name in ("tensorflow_seed", "tensorflow_eager")}


def restore(state: dict[str, Any]) -> None:
    if "python" in state:
        random.setstate(state["python"])
    if "numpy" in state:
        np.random.set_state(in_bounds(state["numpy"]))
    if "tensorflow_seed" in state:
        private.set_eager_seed(state["tensorflow_seed"], state["tensorflow_eager"])
    if "fresh" in state:
        entropy.go_on(state["fresh"])
    for name, (_, give) in _others.items():
        if name in state:
            give(state[name])


def stream() -> object:
    return private.eager_stream()


_given: set[int] = set()  # seeds that Pitstop has given, not the script


def script_seed() -> int | None:
    seed = private.eager_seed()[0]
    return None if seed is None or seed in _given else int(seed)


def regard_as_given() -> None:
    seed = private.eager_seed()[0]
    if seed is not None:
        _given.add(seed)


def watch_unseeded_ops() -> None:
    """Ops without a seed (a `shuffle`, `tf.random.normal`) get one from the run's entropy."""
    private.seed_unseeded_ops(_seeds_of_op)


_MOST_SEEDS = 1024
"""TensorFlow keeps a kernel for each pair of seeds; each kernel draws on where it was."""
_seeds: deque[tuple[int, int]] = deque()


def _seeds_of_op() -> tuple[int, int] | None:
    if not entropy.is_here():
        return None
    if len(_seeds) < _MOST_SEEDS:
        _seeds.append((entropy.bits("ops", _SEED_BITS), entropy.bits("ops", _SEED_BITS)))
    else:
        _seeds.rotate(-1)
    return _seeds[-1]


def seed_if_unseeded() -> None:
    """Gives TensorFlow a random seed if the script gave none: else streams cannot be read."""
    if private.eager_seed()[0] is None:
        tf.random.set_seed(entropy.bits("tensorflow", _SEED_BITS))
        regard_as_given()


WITH_KERAS_2 = "call keras.backend.experimental.enable_tf_random_generator() before creating layers"
"""What makes its layers draw from streams that can be read."""

# Where TensorFlow and Keras keep the functions of an input.
_OPENED_MODULES = (
    "tensorflow.python.data.",
    "keras.src.trainers.data_adapters.",
    "tf_keras.src.engine.data_adapter",
)


class RandomStreams:
    """Takes and sets the states of all streams together.

    The reader of an input written in Python is ahead of the step. On a resume it repeats what it
    drew, so a stream that moves then is the reader's; all others are set to what they were at the
    cut.
    """

    def __init__(self) -> None:
        self.script = ScriptRandom()

    def look(self, roots: Mapping[str, Any]) -> None:
        self.script.look(roots, is_part_of_an_input)

    def capture(self) -> dict[str, Any]:
        return {**capture(), "objects": self.script.capture()}

    def restore(self, state: dict[str, Any]) -> None:
        restore(state)
        self.script.restore(state.get("objects", {}))

    def restore_unmoved(self, cut: dict[str, Any], before: dict[str, Any]) -> None:
        """After a replay: streams that are as they were `before` it are set to the cut."""
        self.restore(unmoved(cut, before, self.capture()))

    def missing(self, state: dict[str, Any], before: dict[str, Any]) -> list[str]:
        """The script's generators that have drawn since `before`, and that it no longer has."""
        now, then = (each.get("objects", {}) for each in (state, before))
        return [name for name in self.script.missing(now) if not same(now[name], then.get(name))]


def unmoved(cut: dict[str, Any], before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    kept = {name: state for name, state in cut.items() if same(before.get(name), now.get(name))}
    tensorflow = of_tensorflow(cut)
    if not tensorflow.keys() <= kept.keys():  # They are one stream together.
        kept = {name: kept[name] for name in kept.keys() - tensorflow.keys()}
    moved = {
        name
        for name, state in before["objects"].items()
        if not same(state, now["objects"].get(name))
    }
    objects = cut.get("objects", {})
    return {**kept, "objects": {name: objects[name] for name in objects.keys() - moved}}


def is_part_of_an_input(kind: type) -> bool:
    return str(kind.__module__).startswith(_OPENED_MODULES)
