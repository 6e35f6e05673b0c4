"""Pipelines that cannot be saved: which of them a replay repeats, and which it cannot."""

from __future__ import annotations

from typing import Any

import keras
import pytest
import tensorflow as tf

from pitstop.engine.exactness import Exactness
from pitstop.keras.inputs import input_level
from pitstop.tensorflow.pipelines import stage_functions
from pitstop.tensorflow.pipelines.stage_functions import StatefulStage


def stage(name: str, *ops: str, is_parallel: bool = False, known: bool = True) -> StatefulStage:
    drawing = frozenset(name for name in ops if name.startswith("Random"))
    return StatefulStage(name, frozenset(ops), is_parallel, known, drawing)


@pytest.mark.parametrize(
    ("stages", "refused", "level", "words"),
    [
        ([stage("map", "PyFunc")], "PyFunc", "exact_by_replay", "map runs Python code"),
        (
            [stage("map", "EagerPyFunc", is_parallel=True)],
            "EagerPyFunc",
            "exact_by_replay",
            "must not draw random numbers",
        ),
        (
            [stage("map", "ReadVariableOp", "AssignVariableOp")],
            "ReadVariableOp",
            "exact_by_replay",
            "uses variables",
        ),
        ([stage("filter", "RandomUniform")], "RandomUniform", "not_exact", "stateless"),
        (
            [stage("map", "PyFunc"), stage("map", "RandomUniform")],
            "PyFunc",
            "not_exact",
            "RandomUniform",
        ),
        (
            [stage("map", "RngReadAndSkip", is_parallel=True)],
            "RngReadAndSkip",
            "not_exact",
            "remove num_parallel_calls",
        ),
        (
            [stage("map", "AssignVariableOp", known=False)],
            "AssignVariableOp",
            "not_exact",
            "tf.Variable",
        ),
        (
            [stage("map", "MutableHashTableV2")],
            "MutableHashTableV2",
            "not_exact",
            "cannot be restored",
        ),
        ([], "", "exact_by_replay", "cannot be read"),
    ],
)
def test_a_refusal_is_told(
    stages: list[StatefulStage], refused: str, level: str, words: str
) -> None:
    told = input_level.level_of(stages, refused)
    assert told.level == level
    assert words in told.reason


def test_deterministic_ops_can_be_repeated() -> None:
    told = input_level.level_of(
        [stage("map", "RandomUniform")], "RandomUniform", deterministic_ops=True
    )
    assert told.level == "exact_by_replay"


def test_a_stage_is_named_once() -> None:
    twice = [stage("map", "PyFunc"), stage("map", "PyFunc")]
    expected = Exactness("exact_by_replay", "the pipeline's map runs Python code")
    assert input_level.level_of(twice, "PyFunc") == expected


def rows() -> Any:
    return tf.data.Dataset.from_tensor_slices(tf.ones((8, 4)))


def drawing(layer: Any, **settings: Any) -> Any:
    return rows().map(lambda row: layer(row, training=True), **settings)


@pytest.mark.parametrize(
    ("settings", "is_parallel"), [({}, False), ({"num_parallel_calls": 2}, True)]
)
def test_a_layer_in_a_pipeline_is_seen(settings: dict[str, int], is_parallel: bool) -> None:
    layer = keras.layers.GaussianNoise(0.1, seed=3)
    dataset = drawing(layer, **settings).batch(2).prefetch(1)
    (found,) = stage_functions.stateful_stages(dataset)
    assert (found.name, found.is_parallel, found.only_variables) == ("map", is_parallel, True)
    assert found.ops == {"ReadVariableOp", "AssignVariableOp"}
    assert stage_functions.variables_of(dataset) == [layer.seed_generator.state.value]


def test_a_variable_of_two_stages_is_held_once() -> None:
    layer = keras.layers.GaussianNoise(0.1, seed=3)
    twice = drawing(layer).map(lambda row: layer(row, training=True))
    assert len(stage_functions.variables_of(twice)) == 1
    assert len(stage_functions.stateful_stages(twice)) == 2


def test_variables_of_a_pipeline_come_in_the_order_of_their_use() -> None:
    layers = [keras.layers.GaussianNoise(0.1, seed=seed) for seed in range(16)]
    used = [layers[place] for place in (5, 11, 2, 14, 8, 0, 13, 6, 15, 3, 9, 12, 1, 10, 7, 4)]

    def augmented(row: Any) -> Any:
        for layer in used:
            row = layer(row, training=True)
        return row

    dataset = tf.data.Dataset.from_tensors(tf.zeros([4])).map(augmented)
    wanted = [layer.seed_generator.state.value for layer in used]
    assert [id(each) for each in stage_functions.variables_of(dataset)] == list(map(id, wanted))


def test_inner_functions_are_looked_into() -> None:
    def drawn_or_not(row: Any) -> Any:
        return tf.cond(row[0] > 3, lambda: row + tf.random.normal([4]), lambda: row)

    inner = rows().interleave(lambda row: tf.data.Dataset.from_tensors(row).map(drawn_or_not))
    (found,) = stage_functions.stateful_stages(inner)
    assert found.name == "interleave"
    assert "RandomStandardNormal" in found.ops


def test_a_pipeline_without_state_has_no_such_stage() -> None:
    assert stage_functions.stateful_stages(rows().shuffle(3).map(lambda row: row * 2)) == []
    assert stage_functions.variables_of([1, 2]) == []
