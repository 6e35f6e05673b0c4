"""What functions were traced with, for each signature."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from pitstop.tensorflow.graph_digest import look


class Options:
    def __init__(self, scale: float) -> None:
        self.scale = scale


def traced(*scales: float) -> dict[str, str]:
    @tf.function
    def scaled(options: Any, value: Any) -> Any:
        return options.scale * value

    given = [Options(scale) for scale in scales]
    for each in given:
        scaled(each, tf.constant(1.0))
    return look(scaled)[0]


def test_an_object_as_an_argument_is_the_same_one_in_another_process() -> None:
    assert traced(1.0) == traced(1.0)
    assert traced(1.0).keys() == traced(2.0).keys()
    assert traced(1.0) != traced(2.0)


def test_several_objects_are_told_apart_by_their_order() -> None:
    first, second = traced(1.0), traced(1.0, 2.0)
    assert len(second) == 2
    assert first.items() < second.items()
    assert second == traced(1.0, 2.0)
