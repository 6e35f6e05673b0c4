"""Functions of a loop go on with the numbers that they would have drawn."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from pitstop.tensorflow import counted_draws
from pitstop.tensorflow.function_draws import FunctionDraws


def _called(draws: FunctionDraws) -> Any:
    function = tf.function(lambda: tf.random.normal((2,)))
    draws.begins(function)
    return lambda: function().numpy().tolist()


def test_kernels_are_made_anew_before_the_first_call_after_a_resume() -> None:
    counted_draws.watch()
    tf.random.set_seed(3)
    begun = FunctionDraws()
    draw = _called(begun)
    first = [draw(), draw()]
    saved = begun.capture()
    for is_seeded, drawn in (False, draw()), (True, first[0]):
        resumed = FunctionDraws()
        resumed.restore(saved)
        if is_seeded:
            tf.random.set_seed(3)
            assert resumed.capture() != saved
        else:
            assert resumed.capture() == saved
        assert _called(resumed)() == drawn


def test_a_doubt_names_the_function() -> None:
    counted_draws.watch()
    tf.random.set_seed(3)

    def noise(count: int) -> Any:
        return tf.random.normal((2,)) * count

    saved = {"noise": {"another input": [[1, 2, 3]]}}
    resumed, function = FunctionDraws(), tf.function(noise)
    resumed.begins(function)
    resumed.restore(saved)
    function(1)
    assert resumed.returned(function).startswith("noise draws random numbers")
