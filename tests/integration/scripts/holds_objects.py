"""A training whose learning rate follows objects of many kinds, which callbacks change.

usage: holds_objects.py OUT
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import itertools
import multiprocessing
import pathlib
import queue
import random
import sys
import types
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

DenseTable = tf.lookup.experimental.DenseHashTable
RowTable = tf.lookup.experimental.MutableHashTable


class Phase(enum.Enum):
    WARM = 1
    MAIN = 2


class Span(NamedTuple):
    low: float
    high: float


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    step: int
    span: Span


@dataclasses.dataclass(slots=True)
class Noise:
    draw: np.random.Generator
    last: Reading | None = None


class Log(list[float]):
    total = 0.0


RATES = {Phase.WARM: 0.01, Phase.MAIN: 0.02}
STREAMS = {("pair", 1): random.Random(3), "other": np.random.RandomState(4)}
NOISE = Noise(np.random.default_rng(5))
NEXT = {"batch": random.Random(6)}
COUNTS = DenseTable(tf.int64, tf.int64, 0, -1, -2)
MEANS = RowTable(tf.int64, tf.float32, tf.zeros(2))
RECENT: Any = queue.Queue(3)
WORST: Any = queue.PriorityQueue()
SCALE = multiprocessing.Value("d", 1.0)
PLACE = types.SimpleNamespace(phase=Phase.WARM, span=Span(9.0, 0.0))


def turns() -> Any:
    cycle, numbers = itertools.cycle((1.0, 0.5, 2.0)), itertools.count(1, 2)
    return lambda: next(cycle) / next(numbers)


class Settings:
    class Rates:
        """Inside of another class."""

        decay = 1.0


@contextlib.contextmanager
def decayed() -> Any:
    Settings.Rates.decay *= 0.999
    yield Settings.Rates.decay


class Steer(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.weights = np.linspace(0.5, 1.5, 4)
        self.averages = [np.zeros(4), np.ones(4)]
        self.chosen = self.averages[0]
        self.turn = turns()
        self.log = Log()
        self.seen: Any = collections.defaultdict(collections.Counter)
        self.best = pathlib.Path("none")
        self.note = tf.constant("a")
        self.table = {"scale": lambda value: 1 + value, "calls": 0}

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        loss = float(logs["loss"])
        span = PLACE.span = Span(min(PLACE.span.low, loss), max(PLACE.span.high, loss))
        NOISE.last = Reading(batch, span)
        NEXT["batch"] = random.Random(NEXT["batch"].getrandbits(20))
        PLACE.phase = Phase.MAIN if batch % 3 else Phase.WARM
        RATES[PLACE.phase] *= 0.99
        self.log.append(loss)
        self.log.total += loss
        self.seen[batch]["n"] += 1
        self.best = self.best if loss > span.low else pathlib.Path(str(batch))
        self.note = tf.strings.join([self.note, "b"])
        self.table["calls"] += 1
        self.averages.reverse()
        self.chosen += 0.1 * (self.weights - self.chosen) * loss
        if RECENT.full():
            SCALE.value = 0.9 * SCALE.value + 0.1 * RECENT.get()
        RECENT.put(loss)
        WORST.put((-loss, batch))
        key = tf.constant([batch % 4], tf.int64)
        COUNTS.insert(key, COUNTS.lookup(key) + 1)
        MEANS.insert(key, 0.9 * MEANS.lookup(key) + 0.1 * loss)
        self.model.optimizer.learning_rate.assign(self.rate(key))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        dense, dropout, _ = self.model.layers
        dense.kernel_regularizer.l2 *= 3
        dropout.rate += 0.05
        self.model.optimizer.clipnorm = 1.0 / (1 + epoch)
        self.model.make_train_function(force=True)

    def rate(self, key: Any) -> float:
        draws = STREAMS["pair", 1].random() + STREAMS["other"].rand() + NOISE.draw.random()
        draws += NEXT["batch"].random()
        table = float(COUNTS.lookup(key)[0]) + float(tf.reduce_sum(MEANS.lookup(key)))
        lists = self.averages[0][0] + self.chosen[1] + self.log.total + len(self.note.numpy())
        calls = self.table["scale"](self.table["calls"]) + sum(map(len, self.seen.values()))
        with decayed() as decay:
            calls += decay + SCALE.value + WORST.queue[0][1]
        return float(
            RATES[PLACE.phase] * draws * self.turn() / (1 + 0.01 * (table + lists + calls))
        )


keras.utils.set_random_seed(3)
x = np.random.default_rng(0).normal(size=(96, 6)).astype("float32")
first = keras.layers.Dense(8, kernel_regularizer=keras.regularizers.L2(0.001))
model = keras.Sequential([first, keras.layers.Dropout(0.1), keras.layers.Dense(1)])
model.compile("sgd", "mse")
steer = Steer()
for _ in range(2):
    model.fit(x, x.sum(1), epochs=3, batch_size=16, verbose=0, callbacks=[steer])
weights = [each.tobytes().hex() for each in model.get_weights()]
held = [PLACE, NOISE.last, RATES, steer.log, steer.log.total, steer.seen, steer.table["calls"]]
arrays = [steer.averages, steer.chosen, steer.best, steer.note]
pathlib.Path(sys.argv[1]).write_text(repr([weights, held, arrays]))
