"""The global random streams of a process: Python, NumPy, TensorFlow."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.engine import entropy
from pitstop.tensorflow import private

_SEED_BITS = 31

_others: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {}
"""Streams of other libraries, by name: how they are taken, and set."""


def also(name: str, capture: Callable[[], Any], restore: Callable[[Any], None]) -> None:
    """Counts the stream of a library to the global ones."""
    _others[name] = (capture, restore)


def capture() -> dict[str, Any]:
    """The state of the global streams, as plain values."""
    seed, eager = private.eager_seed()
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state(),
        "tensorflow_seed": seed,
        "tensorflow_eager": eager,
        "fresh": entropy.drawn(),
        **{name: take() for name, (take, _) in _others.items()},
    }


def of_tensorflow(state: dict[str, Any]) -> dict[str, Any]:
    """The part of a captured state that is TensorFlow's."""
    return {name: state[name] for name in ("tensorflow_seed", "tensorflow_eager")}


def restore(state: dict[str, Any]) -> None:
    """Brings the global streams to a captured state; one that it does not name stays."""
    if "python" in state:
        random.setstate(state["python"])
    if "numpy" in state:
        np.random.set_state(state["numpy"])
    if "tensorflow_seed" in state:
        private.set_eager_seed(state["tensorflow_seed"], state["tensorflow_eager"])
    if "fresh" in state:
        entropy.go_on(state["fresh"])
    for name, (_, give) in _others.items():
        if name in state:
            give(state[name])


def stream() -> object:
    """The object that TensorFlow draws eager seeds from: seeding makes another."""
    return private.eager_stream()


_given: set[int] = set()
"""Seeds that Pitstop has given: they say nothing of the script."""


def script_seed() -> int | None:
    """What the script has seeded TensorFlow with; None where it has not."""
    seed = private.eager_seed()[0]
    return None if seed is None or seed in _given else int(seed)


def regard_as_given() -> None:
    """The present seed is one that an earlier attempt has given."""
    seed = private.eager_seed()[0]
    if seed is not None:
        _given.add(seed)


def seed_if_unseeded() -> None:
    """Gives TensorFlow a random global seed if the script gave none.

    Ops without any seed draw from a stream inside their kernel that nobody can
    read; with a seed, however random, a resume can repeat what they draw.
    """
    if private.eager_seed()[0] is None:
        tf.random.set_seed(entropy.bits("tensorflow", _SEED_BITS))
        regard_as_given()
