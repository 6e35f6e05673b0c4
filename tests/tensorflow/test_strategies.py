"""What all workers would have to read together is not read by one of them for our sake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.distribute import values

from pitstop.engine.script_state.state import ScriptState
from pitstop.engine.values.python_state import Encoder
from pitstop.keras.script_library import KerasLibrary
from pitstop.loop.loop_state import LoopState
from pitstop.tensorflow.strategies import local_values
from pitstop.tensorflow.variables.variables import VariableRegistry


class Count:
    """A metric that a script has written."""

    def __init__(self, total: Any) -> None:
        self.total = total
        self.listed = [total]
        self.named = {"total": (total,)}


def look_behind_objects(total: Any) -> None:
    count = Count(total)
    state = ScriptState(KerasLibrary())
    state.begin({"metric": count, "bare": total}, {})
    state.capture(Encoder(""), read_ahead=False)
    assert state.unverified == []


def name_it_in_a_loop(total: Any) -> None:
    LoopState({"total": total}, VariableRegistry())


def read_what_is_here(total: Any) -> None:
    assert local_values(total) == (np.float32(3.0),)


@pytest.mark.parametrize("look", [look_behind_objects, name_it_in_a_loop, read_what_is_here])
def test_workers_need_not_add_up_a_variable_that_one_looks_at(
    look: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        total = tf.Variable(
            3.0,
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )
    read: list[Any] = []
    monkeypatch.setattr(values.SyncOnReadVariable, "_get_cross_replica", read.append)
    look(total)
    assert read == []


def test_any_other_variable_has_one_value() -> None:
    assert local_values(tf.Variable(2.0)) == (np.float32(2.0),)
