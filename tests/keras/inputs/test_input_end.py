"""A script that is stopped does not wait for its input."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pitstop.keras.inputs.training_input import InputEnd

PATIENCE_SECONDS = 20.0


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    made = threading.Event()
    yield made
    made.set()


def stalled_iterator(gate: threading.Event) -> Any:
    """An iterator whose reading ahead waits at the second element."""
    reached = threading.Event()

    def wait(index: Any) -> Any:
        if index == 1:
            reached.set()
            gate.wait()
        return np.int64(index)

    rows = tf.data.Dataset.range(3).map(lambda index: tf.numpy_function(wait, [index], tf.int64))
    iterator = iter(rows.prefetch(1))
    next(iterator)
    assert reached.wait(10.0)
    return iterator


def test_an_input_that_stalls_keeps_nobody(gate: threading.Event) -> None:
    end = InputEnd(stalled_iterator(gate))
    assert not end.let_go(0.1)
    gate.set()
    assert end.let_go(PATIENCE_SECONDS)


def test_an_input_that_does_not_has_ended(gate: threading.Event) -> None:
    gate.set()
    iterator = stalled_iterator(gate)
    gone = weakref.ref(iterator)
    end = InputEnd(iterator)
    del iterator
    assert gone() is not None
    assert end.let_go(PATIENCE_SECONDS)
    assert gone() is None
