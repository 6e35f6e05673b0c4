"""One process of a run with a recorded loop, its supervisor's end held by the test."""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from pitstop.engine.files.earlier_files import EARLIER
from pitstop.engine.session.session import Session
from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.engine.snapshots.state_capture import StateCapture
from pitstop.errors import PeerClosed
from pitstop.events import Event, from_record
from pitstop.link.beacon import Beacon
from pitstop.link.messages import Welcome
from pitstop.link.wire import pair
from pitstop.replay.calls import FunctionCall
from pitstop.replay.recorder import Recorder
from pitstop.tensorflow.variables.variables import VariableRegistry
from tests.messages import body_of, welcome


class Attempt:
    """A script with two variables and one step function, which counts when it is computed."""

    def __init__(self, folder: Path, saved: SavedState | None = None) -> None:
        tf.random.set_seed(1)
        (folder / "attempts" / "1").mkdir(parents=True, exist_ok=True)
        self.beacon = Beacon.create()
        self.supervisor, self.connection = pair()
        self.session = Session(self.connection, self.beacon, _welcome(folder, saved))
        if saved is not None:
            self.session.fetch = lambda _: saved  # type: ignore[method-assign, assignment]
        self.kept: list[StateCapture | None] = []
        # Nobody makes anything durable here.
        self.session.snapshots.milestone = lambda take: self.kept.append(take())  # type: ignore[method-assign]
        self.weights = tf.Variable([1.0, 2.0], name="weights")
        self.computed = tf.Variable(0, trainable=False, name="computed")
        registry = VariableRegistry()
        registry.adopt([self.weights, self.computed])
        self.opened = 0
        self.recorder = Recorder(self._open, registry)
        self.train_step = tf.function(self._train_step)

    def _open(self) -> Session:
        self.opened += 1
        return self.session

    def _train_step(self, x: Any) -> Any:
        self.computed.assign_add(1)
        self.weights.assign(0.5 * self.weights + x)
        return {"loss": tf.reduce_sum(self.weights), "first": self.weights[0]}

    def step(self, x: float) -> float:
        """One training step; its loss."""
        return float(self.call(self.train_step, tf.constant(x))["loss"])

    def call(self, function: Any, *args: Any) -> Any:
        """Calls a `tf.function` as the hooks do."""
        run = functools.partial(function, *args)
        return self.recorder.call(FunctionCall(function, run, args, {}))

    def elsewhere(self, function: Any, *args: Any) -> Any:
        """Calls it as the hooks do where the recorder does not listen."""
        run = functools.partial(function, *args)
        return self.recorder.elsewhere(FunctionCall(function, run, args, {}))

    def train(self, inputs: Sequence[float]) -> list[float]:
        """A step for each input; their losses."""
        return [self.step(x) for x in inputs]

    def save(self) -> SavedState:
        """What a resume would find, had the process ended here."""
        loop = self.recorder.loop
        assert loop is not None
        return as_saved(loop.take())

    def events(self) -> list[Event]:
        """All that was reported so far; nothing can be reported any more."""
        self.connection.close()
        found = []
        with contextlib.suppress(PeerClosed):
            while True:
                message = self.supervisor.receive()
                for fd in message.fds:
                    os.close(fd)
                if message.message.type == "event_report":
                    found.append(from_record(body_of(message)["event"]))
        return found

    def close(self) -> None:
        """Gives everything back."""
        self.recorder.switch_off()
        EARLIER.leave()
        self.connection.close()
        self.supervisor.close()
        os.close(self.beacon.fd)


def as_saved(cut: StateCapture | None) -> SavedState:
    """A cut, as it is after a way through a checkpoint."""
    assert cut is not None
    tensors = {each.spec.name: memoryview(bytes(each.read())) for each in cut.tensors}
    return SavedState(json.loads(json.dumps(cut.state)), tensors)


def _welcome(folder: Path, saved: SavedState | None) -> Welcome:
    points = []
    if saved is not None:
        position = saved.position
        info = {"step": position.step, "fit": position.fit, "milestone": position.milestone}
        points.append({"checkpoint": "00000001", "info": info})
    return welcome(folder, points=points)
