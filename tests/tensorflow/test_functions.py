"""What is told about `tf.function`s and reads of variables."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.eager.polymorphic_function.concrete_function import ConcreteFunction
from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function
from tensorflow.python.framework.func_graph import FuncGraph
from tensorflow.python.ops import resource_variable_ops

from pitstop.tensorflow import private, variable_use
from pitstop.tensorflow.traced_ops import OpKind


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    for name in ("BaseResourceVariable", "_UnreadVariable"):
        base = getattr(resource_variable_ops, name)
        for method in ("_read_variable_op", "sparse_read", "gather_nd"):
            if method in vars(base):
                # Setting it to itself brings it back after the test.
                monkeypatch.setattr(base, method, getattr(base, method))
    heard: list[str] = []
    variable_use.around_read(lambda variable: heard.append(variable.name), lambda *_: None)
    return heard


def test_every_way_to_read_a_variable_is_told(reads: list[str]) -> None:
    variable = tf.Variable([1.0, 2.0], name="v")
    ways = (
        variable.numpy,
        variable.read_value,
        lambda: variable + 1.0,
        lambda: float(variable[0]),
        lambda: tf.gather(variable, [1]),
        lambda: variable.gather_nd([[0]]),
    )
    for way in ways:
        way()
        assert reads == ["v:0"], way
        reads.clear()
    changed = variable.assign_add([1.0, 1.0])
    reads.clear()
    assert changed.numpy().tolist() == [2.0, 3.0]
    assert len(reads) == 1


def test_every_way_to_write_a_variable_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ways = ("assign", "assign_add", "assign_sub")
    for name in ("BaseResourceVariable", "ResourceVariable"):
        base = getattr(resource_variable_ops, name)
        for way in set(ways) & set(vars(base)):
            monkeypatch.setattr(base, way, getattr(base, way))
    heard: list[str] = []
    variable_use.after_write(lambda variable: heard.append(variable.name))
    variable = tf.Variable(1.0, name="v")
    for way in ways:
        getattr(variable, way)(2.0)
        assert heard == ["v:0"], way
        heard.clear()


def test_input_that_a_function_draws_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FuncGraph, "_create_op_internal", FuncGraph._create_op_internal)
    heard: list[str] = []
    private.on_traced_op({OpKind.INPUT: heard.append})
    dataset = tf.data.Dataset.range(3).map(lambda x: x + 1)
    next(iter(dataset))
    assert heard == []
    tf.function(lambda rows: next(rows) + 1)(iter(dataset))
    assert heard == ["IteratorGetNext"]
    tf.function(lambda: dataset.reduce(tf.constant(0, tf.int64), lambda a, b: a + b))()
    assert heard == ["IteratorGetNext", "ReduceDataset"]


def test_a_call_can_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    for owner in (Function, ConcreteFunction):
        monkeypatch.setattr(owner, "__call__", owner.__call__)
    heard: list[str] = []

    def call(original: Any, function: Any, *args: Any) -> Any:
        heard.append(private.function_name(function))
        return original(function, *args)

    private.around_function_calls(call)
    assert int(tf.function(lambda x: x + 1)(tf.constant(1))) == 2
    assert heard == ["<lambda>"]


def test_functions_that_run_eagerly() -> None:
    function = tf.function(lambda x: x)
    assert not private.runs_eagerly(function)
    tf.config.run_functions_eagerly(True)
    try:
        assert private.runs_eagerly(tf.function(lambda x: x))
    finally:
        tf.config.run_functions_eagerly(False)
