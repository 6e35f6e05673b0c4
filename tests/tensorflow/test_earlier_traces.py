"""Functions that are traced for the inputs of an earlier process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pitstop.tensorflow import earlier_traces


def _function() -> Any:
    traced: list[Any] = []

    @tf.function(reduce_retracing=True)
    def share(given: Any) -> Any:
        rows = given.get_next() if isinstance(given, tf.data.Iterator) else given
        traced.append(rows.shape[0])
        return rows / tf.cast(tf.shape(rows)[0], tf.float32)

    return share, traced


def _rows(count: int) -> Any:
    return tf.constant(np.random.default_rng(count).random((count, 2), "float32"))


def _iterator(count: int) -> Any:
    return iter(tf.data.Dataset.from_tensors(_rows(count)))


_FORMS = pytest.mark.parametrize("form", [_rows, _iterator])


@_FORMS
@pytest.mark.parametrize("calls", [(7,), (3, 7), (3, 7, 3, 5)])
@pytest.mark.parametrize("later", [(7, 3, 9), (3, 7), (11, 3), (5, 5, 3)])
def test_the_graphs_of_calls_are_those_of_one_process(
    form: Any, calls: tuple[int, ...], later: tuple[int, ...]
) -> None:
    undisturbed, traced = _function()
    for count in calls:
        undisturbed(form(count))
    inputs = earlier_traces.inputs_of(undisturbed)
    expected = [undisturbed(form(count)).numpy().tobytes() for count in later]
    resumed, again = _function()
    earlier_traces.expect(resumed, inputs)
    assert [resumed(form(count)).numpy().tobytes() for count in later] == expected
    assert set(again) <= set(traced)
    assert earlier_traces.inputs_of(resumed) == earlier_traces.inputs_of(undisturbed)


def test_a_resume_traces_only_what_it_calls() -> None:
    undisturbed, _ = _function()
    for count in (3, 7):
        undisturbed(_rows(count))
    resumed, traced = _function()
    earlier_traces.expect(resumed, earlier_traces.inputs_of(undisturbed))
    resumed(_rows(7))
    assert traced == [None]


@_FORMS
def test_traces_of_the_present_process_count_after_the_earlier_ones(form: Any) -> None:
    undisturbed, traced = _function()
    undisturbed(form(3))
    inputs = earlier_traces.inputs_of(undisturbed)
    undisturbed(form(7))
    resumed, again = _function()
    resumed(form(7))
    earlier_traces.expect(resumed, inputs)
    resumed(form(3))
    resumed(form(5))
    assert traced == [3, None]
    assert again == [7, 3, None]


def test_a_function_that_creates_variables_is_traced_for_the_same_inputs() -> None:
    def function() -> Any:
        made: list[Any] = []
        traced: list[Any] = []

        @tf.function(reduce_retracing=True)
        def add(rows: Any) -> Any:
            traced.append(rows.shape[0])
            if not made:
                made.append(tf.Variable(0.0))
            return made[0].assign_add(tf.reduce_sum(rows) / tf.cast(tf.shape(rows)[0], tf.float32))

        return add, traced

    undisturbed, traced = function()
    for count in (3, 7):
        undisturbed(_rows(count))
    assert traced == [3, 3, None]
    resumed, again = function()
    earlier_traces.expect(resumed, earlier_traces.inputs_of(undisturbed))
    resumed(_rows(7))
    resumed(_rows(3))
    assert again == [None, None, 3]


def test_functions_that_do_not_relax_are_left_alone() -> None:
    plain = tf.function(lambda rows: rows)
    plain(_rows(3))
    assert earlier_traces.inputs_of(plain) == []
    earlier_traces.expect(plain, ["no input"])
    assert plain(_rows(4)).shape == (4, 2)


def test_inputs_without_a_form_are_not_kept() -> None:
    function = tf.function(lambda _given: tf.constant(1), reduce_retracing=True)
    function(object())
    assert earlier_traces.inputs_of(function) == []
