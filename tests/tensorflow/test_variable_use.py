"""Reads of variables are told, whichever way an eager op reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.distribute.cross_device_ops import CollectiveAllReduce
from tensorflow.python.distribute.values import PerReplica
from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable

from pitstop.tensorflow import variable_use

READS: dict[str, Callable[[Any], Any]] = {
    "operand": lambda variable: tf.ones(2) * variable,
    "reduction": tf.reduce_sum,
    "square": tf.square,
    "bias": lambda variable: tf.nn.bias_add(tf.zeros((1, 2)), variable),
}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(BaseResourceVariable, "handle", BaseResourceVariable.handle)
    # Taken away again afterwards.
    monkeypatch.setattr(BaseResourceVariable, "_handle", None, raising=False)
    found: list[Any] = []
    variable_use.before_read_by_op(found.append)
    return found


@pytest.mark.parametrize("name", READS)
def test_an_op_that_reads_by_itself_is_told_before(name: str, told: list[Any]) -> None:
    variable = tf.Variable([1.0, 2.0])
    assert told == []
    before = READS[name](variable)
    assert told
    assert all(each is variable for each in told)
    assert READS[name](variable).numpy().tolist() == before.numpy().tolist()


def test_what_is_set_before_the_read_is_read(told: list[Any]) -> None:
    variable = tf.Variable([1.0, 2.0])
    variable_use.before_read_by_op(lambda each: each.assign([3.0, 4.0]))
    assert float(tf.reduce_sum(variable)) == 7.0
    assert told == []


def test_writes_do_not_read_by_it(told: list[Any]) -> None:
    variable = tf.Variable([1.0, 2.0])
    variable.assign_add([1.0, 1.0])
    count = len(told)
    assert count == 0
    assert variable.handle is vars(variable)["_handle"]
    del variable._handle
    assert not hasattr(variable, "_handle")


def test_a_variable_that_stands_for_another_one_has_its_handle(told: list[Any]) -> None:
    variable = tf.Variable([1.0, 2.0])

    class Standing(BaseResourceVariable):
        def __init__(self) -> None:
            self.other = variable

        def __getattr__(self, name: str) -> Any:
            return getattr(self.other, name)

    assert Standing().handle is variable.handle
    assert told == [variable]


def test_variables_that_workers_add_up_are_told_before(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "_all_reduce_per_replica_values"
    told: list[Any] = []
    monkeypatch.setattr(CollectiveAllReduce, name, lambda *_: list(told))
    variable_use.before_reduction(told.append)
    variable, reducer = tf.Variable(1.0), object.__new__(CollectiveAllReduce)
    values = [PerReplica([variable]), PerReplica([tf.constant(2.0)])]
    [found] = getattr(reducer, name)("sum", values, None)
    assert found is variable
