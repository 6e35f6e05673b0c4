"""Tests of pitstop.tensorflow.variables.naming."""

from __future__ import annotations

from typing import NoReturn

import keras
import tensorflow as tf

from pitstop.tensorflow.variables.naming import path_of, value_of


class _AddedUp:
    """As of TensorFlow's values that workers add up: an unknown attribute is one of the sum."""

    name = "loss/total:0"

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(f"{name}: all workers would have to read it now")


def test_a_variable_is_not_read_to_find_its_name() -> None:
    """One member of a cluster may look for it when the others do not."""
    variable = _AddedUp()
    assert path_of(variable) == "loss/total"
    assert value_of(variable) is variable


def test_the_names_of_both_frameworks() -> None:
    assert path_of(tf.Variable(1.0, name="rate")) == "rate"
    of_keras = keras.Variable(1.0, name="rate")
    assert path_of(of_keras) == of_keras.path
    assert value_of(of_keras) is of_keras.value
