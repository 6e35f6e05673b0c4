"""Steps outside of any `tf.function`: they are counted, and stopped at, and cannot be repeated."""

import threading
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from pitstop.engine.fence import observing

_Asks = Callable[[], bool]


class EagerSteps:
    """Gradients that the script takes, and applies, by itself."""

    def __init__(self, listens: _Asks, records: _Asks, count: Callable[[], None]) -> None:
        """`count` counts a step, and raises `TrainingStopped` for a stop."""
        self._listens = listens
        self._records = records
        self._count = count
        self._gradients_taken = False
        # the thread that waits for what a strategy runs on its replicas; 0 for none
        self.waiting = 0
        self._replicas_train = False

    def replicates(self, run: Callable[[], Any]) -> Any:
        """Runs what a strategy does on its replicas, one step at most; raises `TrainingStopped`."""
        if self.waiting or not self._listens():
            return run()
        self.waiting, self._replicas_train = threading.get_ident(), False
        try:
            result = run()
        finally:
            self.waiting = 0
        if self._replicas_train:
            self._count()
        return result

    def replica_called(self, *, trains: bool) -> None:
        self._replicas_train |= trains

    def forget(self) -> None:
        self._gradients_taken = False

    @observing(spoils=True)
    def applies_gradients(self) -> None:
        """The script itself applies a Keras optimizer; raises `TrainingStopped` for a stop."""
        if self._in_replica():
            self._replicas_train = True
        elif self._listens():
            self._count()

    @observing()
    def took_gradients(self) -> None:
        self._gradients_taken = self._in_replica() or self._listens()

    @observing(spoils=True)
    def wrote(self, variable: Any) -> None:
        """The script changed a variable: a step, with gradients; raises `TrainingStopped`."""
        if self._gradients_taken and variable.trainable and not self._records():
            self.applies_gradients()

    def _in_replica(self) -> bool:
        return bool(self.waiting) and bool(tf.executing_eagerly())
