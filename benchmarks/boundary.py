"""Microseconds that Pitstop adds to a step when nothing is due.

Calls the two hooks of a step inside of a real `fit`, many times over, with the
logs of a real step.  Three rounds; prints each and the median.
"""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np

from pitstop.engine.session.session import Session
from pitstop.errors import PeerClosed
from pitstop.keras import hooks
from pitstop.keras.instrumentation import Instrumentation
from pitstop.keras.training import Training
from pitstop.link.beacon import Beacon
from pitstop.link.messages import Welcome
from pitstop.link.settings import Settings
from pitstop.link.wire import PROTOCOL, Connection, pair
from pitstop.tensorflow.variables.variables import REGISTRY
from tests.messages import body_of

CALLS = 20_000
ROUNDS = 3
AT_STEP = 5
NEVER_DUE = Settings(overhead=1e-12)


class Measurement(keras.callbacks.Callback):
    """Times both hooks inside of a running epoch."""

    def __init__(self, training: Training) -> None:
        super().__init__()
        self.training = training
        self.steps = 0
        self.microseconds: list[float] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Measures once, in the middle of the epoch."""
        self.steps += 1
        run = self.training.run
        if self.steps != AT_STEP or run is None:
            return
        returned = dict(run.numbers.logs)
        for _ in range(ROUNDS):
            started = time.perf_counter()
            for _ in range(CALLS):
                run.step_returned(0, returned)
                run.step_done()
            self.microseconds.append((time.perf_counter() - started) / CALLS * 1e6)


def open_session(
    connection: Connection, beacon: Beacon, folder: str, settings: Settings = NEVER_DUE
) -> Session:
    """A session that nobody asks for anything."""
    welcome = Welcome(PROTOCOL, folder, 1, settings, -1, [])
    return Session(connection, beacon, welcome)


def drain(connection: Connection, beacon: Beacon) -> None:
    """Takes what the trainer sends, and calls every snapshot durable."""
    with contextlib.suppress(PeerClosed):
        while True:
            message = connection.receive()
            if message.message.type == "snapshot_report":
                beacon.settle(int(body_of(message)["sequence"]))


def main() -> None:
    """Measures inside of a training and prints."""
    REGISTRY.install()
    ours, theirs = pair()
    beacon = Beacon.create()
    threading.Thread(target=drain, args=(theirs, beacon), daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "attempts" / "1").mkdir(parents=True)
        instrumentation = Instrumentation("")
        training = instrumentation.training = Training(open_session(ours, beacon, folder), {})
        hooks.patch(instrumentation)
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile("adam", "mse", metrics=["mae"])
        measurement = Measurement(training)
        model.fit(np.ones((640, 4)), np.ones((640, 1)), callbacks=[measurement], verbose=0)
    rounds = ", ".join(f"{value:.2f}" for value in measurement.microseconds)
    median = statistics.median(measurement.microseconds)
    print(f"microseconds per step with nothing due: {rounds}; median {median:.2f}")


if __name__ == "__main__":
    main()
