"""Begins the random streams of a script with its run's entropy, as their modules come."""

import os
import sys
from collections.abc import Callable

from pitstop.engine.randomness import entropy

_SEED_BITS = 128
_WORD_BITS = 32


def watched() -> dict[str, Callable[[], None]]:
    """By module: what is to be done when it has been imported; nothing in a child."""
    if entropy.begin(os.environ) is None:
        return {}
    return {"random": seed_python, "numpy.random": seed_numpy}


def seed_python() -> None:
    sys.modules["random"].seed(entropy.bits("python", _SEED_BITS))


def seed_numpy() -> None:
    """Seeds the global stream, and the source of seeds for generators without one."""
    numpy_random = sys.modules["numpy.random"]
    words = [entropy.bits("numpy", _WORD_BITS) for _ in range(_SEED_BITS // _WORD_BITS)]
    numpy_random.seed(words)
    # `SeedSequence` calls it by this name (numpy/random/bit_generator.pyx).
    source = sys.modules.get("numpy.random.bit_generator")
    if callable(getattr(source, "randbits", None)):
        source.randbits = _bits  # type: ignore[union-attr]


def _bits(count: int) -> int:
    return entropy.bits("generators", count)
