"""A generator that the input and a callback both draw from is found; other ones are not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pitstop.engine import reachable, script_random

this = sys.modules[__name__]
SHARED = np.random.default_rng(1)


@pytest.fixture(autouse=True)
def this_is_a_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reachable, "user_modules", lambda: {__name__: this})


class Rows:
    def __init__(self, stream: Any = None) -> None:
        self.stream = stream


class Noise:
    """A callback."""

    def __init__(self, stream: Any = None, **more: Any) -> None:
        self.stream = stream
        self.more = more


class GlobalNoise(Noise):
    def draw(self) -> float:
        return _drawn()


class NoiseOfModule(Noise):
    def draw(self) -> float:
        return float(this.SHARED.normal())


def _drawn() -> float:
    return float(SHARED.normal())


def global_batches() -> Iterator[float]:
    while True:
        yield SHARED.normal()


def own_batches(stream: Any) -> Iterator[float]:
    while True:
        yield stream.normal()


def level(data: Any, *callbacks: Any) -> str:
    told = script_random.level_of_shared(data, callbacks, lambda _: False)
    return told.level if told else ""


@pytest.mark.parametrize(
    ("data", "callback"),
    [
        (Rows(SHARED), Noise(SHARED)),
        (Rows(SHARED), GlobalNoise()),
        (Rows(SHARED), NoiseOfModule()),
        (global_batches(), GlobalNoise()),
        (own_batches(SHARED), Noise(SHARED)),
        (SHARED.normal, Noise(_drawn)),
    ],
)
def test_a_shared_generator_is_found(data: Any, callback: Any) -> None:
    assert level(data, Noise(), callback) == "not_exact"


@pytest.mark.parametrize(
    ("data", "callback"),
    [
        (Rows(SHARED), Noise(np.random.default_rng(2))),
        (own_batches(np.random.default_rng(2)), GlobalNoise()),
        (np.zeros(3), GlobalNoise()),
        (None, Noise(SHARED)),
    ],
)
def test_generators_of_one_of_them_are_not(data: Any, callback: Any) -> None:
    assert level(data, callback) == ""


def test_a_callback_that_only_knows_the_input_does_not_draw() -> None:
    data = Rows(SHARED)
    assert level(data, Noise(data=data)) == ""
