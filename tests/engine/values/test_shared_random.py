"""A generator that the input and a callback both draw from is found; other ones are not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pitstop.engine.randomness import script_random
from pitstop.engine.values import reachable

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


class Images:
    """A `PyDataset`, whose items several threads make."""

    def __init__(self, workers: int = 2) -> None:
        self.workers = workers
        self.stream = np.random.default_rng(3)
        self.order = np.arange(8)

    def __getitem__(self, index: int) -> Any:
        return self.order[index]

    def on_epoch_end(self) -> None:
        self.stream.shuffle(self.order)


class OwnStream(Images):
    def __getitem__(self, index: int) -> Any:
        return self.moved(index)

    def moved(self, index: int) -> Any:
        return self.order[index] + self.stream.normal()


class Switched(Images):
    def __init__(self, *, augments: bool) -> None:
        super().__init__()
        self.augments = augments

    def __getitem__(self, index: int) -> Any:
        return np.random.normal() if self.augments else index


class StreamOfModule(Images):
    def __getitem__(self, index: int) -> Any:
        return SHARED.normal() + index


class GlobalStream(Images):
    def __getitem__(self, index: int) -> Any:
        return np.random.normal() + index


class StreamOfIndex(Images):
    def __getitem__(self, index: int) -> Any:
        return np.random.default_rng(index).normal()


@pytest.mark.parametrize(
    ("data", "is_told"),
    [
        (OwnStream(), True),
        (StreamOfModule(), True),
        (GlobalStream(), True),
        (Switched(augments=True), True),
        (Switched(augments=False), False),
        (OwnStream(workers=1), False),
        (Images(), False),
        (StreamOfIndex(), False),
        (None, False),
        (np.zeros(3), False),
    ],
)
def test_workers_that_draw_from_one_stream(data: Any, is_told: bool) -> None:
    assert (script_random.level_of_workers(data) is not None) == is_told
