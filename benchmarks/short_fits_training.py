"""Calls `fit` for each batch of a replay memory; the script that `short_fits.py` runs."""

import random
import sys
import time
from collections import deque

import keras
import numpy as np
from numpy.typing import NDArray

MEMORY, FITS = sys.argv[1], int(sys.argv[2])
BATCH = 32
Transition = tuple[NDArray[np.float32], NDArray[np.float32], bool]


class Agent:
    memory: deque[Transition] | list[Transition]

    def __init__(self) -> None:
        self.memory = deque(maxlen=2000) if MEMORY == "deque" else []
        self.model = keras.Sequential(
            [
                keras.layers.Input((4,)),
                keras.layers.Dense(24, activation="relu"),
                keras.layers.Dense(24, activation="relu"),
                keras.layers.Dense(2),
            ]
        )
        self.model.compile("adam", "mse")

    def remember(self, count: int) -> None:
        for _ in range(count):
            self.memory.append((draw(4), draw(2), False))

    def replay(self) -> None:
        batch = random.sample(self.memory, BATCH)
        x, y = (np.array([each[place] for each in batch]) for place in (0, 1))
        self.model.fit(x, y, epochs=1, verbose=0)
        self.remember(1)


def draw(size: int) -> NDArray[np.float32]:
    return rng.normal(size=size).astype("float32")


keras.utils.set_random_seed(1)
rng = np.random.default_rng(0)
images = np.zeros((60_000, 784), np.uint8) if MEMORY == "array" else None
agent = Agent()
agent.remember(5000 if MEMORY in ("list", "deque") else BATCH)
for _ in range(10):
    agent.replay()
begun = time.process_time()
for _ in range(FITS):
    agent.replay()
print("PER FIT", 1000 * (time.process_time() - begun) / FITS)
