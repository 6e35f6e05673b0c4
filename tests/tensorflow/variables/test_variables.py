"""Every variable is held at a cut and assigned at a resume, bit for bit."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.errors import ResumeRefused
from pitstop.store.image import plan_image
from pitstop.tensorflow.variables.variables import (
    PathOf,
    VariableRegistry,
    no_path,
    saved_variables,
)


def save(registry: VariableRegistry, path_of: PathOf = no_path) -> SavedState:
    """Holds and copies everything, as the trainer and the persister do."""
    held = registry.hold(path_of)
    image = plan_image([tensor.spec for tensor in held.tensors])
    read = {tensor.spec.name: bytes(tensor.read()) for tensor in held.tensors}
    sizes = {place.spec.name: place.size_bytes for place in image.placements}
    assert {name: len(data) for name, data in read.items()} == sizes
    return SavedState(held.state, {n: memoryview(d) for n, d in read.items()})


def paths(saved: SavedState) -> list[str]:
    return [item.path for item in saved_variables(saved)]


# -- which variables -------------------------------------------------------------


def test_variables_are_known_in_the_order_of_creation(registry: VariableRegistry) -> None:
    kept = [tf.Variable(0.0, name=name) for name in ("c", "a", "b")]
    saved = save(registry)
    assert paths(saved) == ["c", "a", "b"]
    assert [item.index for item in saved_variables(saved)] == [0, 1, 2]
    del kept


def test_a_variable_that_is_gone_keeps_its_number(registry: VariableRegistry) -> None:
    kept = [tf.Variable(float(index)) for index in range(3)]
    del kept[1]
    gc.collect()
    assert [item.index for item in saved_variables(save(registry))] == [0, 2]


def test_readable_paths_come_first(registry: VariableRegistry) -> None:
    kept = tf.Variable(0.0, name="raw")
    assert paths(save(registry, lambda variable: "dense/kernel" if variable is kept else "")) == [
        "dense/kernel"
    ]
    assert save(registry).tensors.keys() == {"variables/00000/raw"}


def test_reads_and_graph_variables_are_not_variables(registry: VariableRegistry) -> None:
    kept = tf.Variable(1.0)
    reads = [kept.assign_add(1.0), kept + 1]
    with tf.Graph().as_default():
        in_graph = tf.compat.v1.get_variable("g", initializer=0.0, use_resource=True)
    assert len(saved_variables(save(registry))) == 1
    del reads, in_graph


def test_a_variable_of_a_function_is_known(registry: VariableRegistry) -> None:
    kept: list[Any] = []

    def step() -> Any:
        if not kept:
            kept.append(tf.Variable(5.0, name="inside"))
        return kept[0].assign_add(1.0)

    tf.function(step)()
    saved = save(registry)
    assert paths(saved) == ["inside"]
    assert np.frombuffer(saved.tensors["variables/00000/inside"], "f4") == 6.0


def test_variables_that_cannot_be_saved_are_named(registry: VariableRegistry) -> None:
    dataset = tf.data.experimental.to_variant(tf.data.Dataset.range(3))
    kept = [tf.Variable(dataset, name="data"), tf.Variable(1.0)]
    held = registry.hold()
    assert held.refused == ["data (variant)"]
    assert [item["index"] for item in held.state["variables"]] == [1]
    assert len(held.tensors) == 1
    del kept


# -- values ----------------------------------------------------------------------

VALUES = {
    "scalar": np.float64(-0.0),
    "empty": np.zeros((0, 3), np.float32),
    "nan": np.array([np.nan, np.inf, -0.0], np.float32),
    "bool": np.array([True, False]),
    "int64": np.array([-(2**63), 2**63 - 1]),
    "uint8": np.arange(256, dtype=np.uint8),
    "float16": np.arange(5, dtype=np.float16),
    "bfloat16": np.arange(6).astype(ml_dtypes.bfloat16).reshape(2, 3),
    "float8_e4m3fn": np.arange(4).astype(ml_dtypes.float8_e4m3fn),
    "float8_e5m2": np.arange(4).astype(ml_dtypes.float8_e5m2),
    "int4": np.arange(-3, 4).astype(ml_dtypes.int4),
    "uint4": np.arange(7).astype(ml_dtypes.uint4),
    "complex64": np.array([1 + 2j, -3j], np.complex64),
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_values_of_every_kind_come_back(registry: VariableRegistry, value: Any) -> None:
    variable = tf.Variable(value)
    saved = save(registry)
    variable.assign(np.zeros_like(value))
    registry.restore(saved)
    assert variable.numpy().tobytes() == np.asarray(value).tobytes()
    assert variable.dtype == tf.as_dtype(value.dtype)


@pytest.mark.parametrize("value", ["text", ["", "a", "\u00e9" * 300], [[b"\xff\0"]], []])
def test_strings_come_back(registry: VariableRegistry, value: Any) -> None:
    variable = tf.Variable(tf.constant(value, tf.string))
    before = variable.numpy()
    saved = save(registry)
    variable.assign(tf.fill(tf.shape(variable), "other"))
    registry.restore(saved)
    assert np.array_equal(variable.numpy(), before)
    assert variable.shape == tf.constant(value, tf.string).shape


def test_common_dtypes_are_readable_for_others(registry: VariableRegistry) -> None:
    kept = [tf.Variable(VALUES[name]) for name in ("nan", "bool", "bfloat16", "float8_e5m2")]
    tensors = registry.hold().tensors
    assert [(t.spec.dtype, t.spec.shape) for t in tensors] == [
        ("F32", (3,)),
        ("BOOL", (2,)),
        ("BF16", (2, 3)),
        ("F8_E5M2", (4,)),
    ]
    del kept


# -- copy-on-write ---------------------------------------------------------------


def add_eagerly(variable: Any) -> None:
    variable.assign_add(tf.ones_like(variable))


def add_in_function(variable: Any) -> None:
    tf.function(add_eagerly)(variable)


def add_compiled(variable: Any) -> None:
    tf.function(add_eagerly, jit_compile=True)(variable)


def add_sparsely(variable: Any) -> None:
    variable.scatter_add(tf.IndexedSlices(tf.ones((2, 4)), tf.constant([0, 2])))


def overwrite(variable: Any) -> None:
    variable.assign(variable * 2.0)


@pytest.mark.parametrize(
    "update", [add_eagerly, add_in_function, add_compiled, add_sparsely, overwrite]
)
def test_a_held_value_survives_updates(
    registry: VariableRegistry, update: Callable[[Any], None]
) -> None:
    before = np.random.default_rng(1).normal(size=(3, 4)).astype("float32")
    variable = tf.Variable(before)
    update(variable)  # a sparse update changes how the variable is read from now on
    before = variable.numpy()
    tensors = registry.hold().tensors
    for _ in range(2):
        update(variable)
    assert variable.numpy().tobytes() != before.tobytes()
    assert bytes(tensors[0].read()) == before.tobytes()


def test_a_hold_copies_nothing(registry: VariableRegistry) -> None:
    variable = tf.Variable(tf.zeros(1000))
    tensors = registry.hold().tensors
    address = np.frombuffer(tensors[0].read(), np.uint8).ctypes.data
    assert np.asarray(memoryview(variable.read_value())).ctypes.data == address


# -- restoring -------------------------------------------------------------------


def test_variables_that_come_later_get_their_value_at_creation(
    registry: VariableRegistry,
) -> None:
    kept = [tf.Variable(value) for value in (1.0, 2.0, 3.0)]
    saved = save(registry)
    resumed = VariableRegistry()
    resumed.install()
    first = tf.Variable(0.0)
    assert resumed.missing(saved)
    resumed.restore(saved)
    second, third = tf.Variable(0.0), tf.Variable(0.0)
    assert not resumed.missing(saved)
    assert [first.numpy(), second.numpy(), third.numpy()] == [1.0, 2.0, 3.0]
    second.assign(7.0)
    assert tf.Variable(0.5).numpy() == 0.5
    assert second.numpy() == 7.0
    del kept


def test_a_variable_that_a_step_will_give_to_the_model_is_missing(
    registry: VariableRegistry,
) -> None:
    kept = tf.Variable(1.0, name="total")
    saved = save(registry, lambda _: "total")
    assert registry.missing(saved)
    assert not registry.missing(saved, lambda _: "total")
    del kept


def test_a_variable_is_missing_although_others_have_come_and_gone(
    registry: VariableRegistry,
) -> None:
    kept = [tf.Variable(1.0, name="weight"), tf.Variable(2.0, name="total")]
    saved = save(registry, _own_name)
    resumed = VariableRegistry()
    resumed.install()
    weight, backup = tf.Variable(0.0, name="weight"), [tf.Variable(0.0), tf.Variable(0.0)]
    del backup
    assert resumed.missing(saved, _own_name)
    total = tf.Variable(0.0, name="total")
    assert not resumed.missing(saved, _own_name)
    del kept, weight, total


def _own_name(variable: Any) -> str:
    name = str(variable.name).removesuffix(":0")
    return "" if name == "Variable" else name


@pytest.mark.parametrize("changed", [np.zeros((2, 4), np.float32), np.zeros((2, 3), np.float64)])
def test_a_changed_variable_is_named_and_nothing_is_assigned(
    registry: VariableRegistry, changed: Any
) -> None:
    saved_pair = [tf.Variable([1.0], name="ok"), tf.Variable(np.ones((2, 3), "f4"), name="kernel")]
    saved = save(registry)
    resumed = VariableRegistry()
    resumed.install()
    untouched, other = tf.Variable([5.0]), tf.Variable(changed, name="kernel")
    with pytest.raises(ResumeRefused, match=r"variable 1 was kernel float32\[2, 3\]") as caught:
        resumed.restore(saved)
    assert f"{other.dtype.name}{other.shape.as_list()}" in caught.value.message
    assert "--force" in caught.value.remedy
    assert untouched.numpy().tolist() == [5.0]
    del saved_pair


def test_a_later_variable_that_does_not_fit_is_named(registry: VariableRegistry) -> None:
    kept = tf.Variable([1.0, 2.0], name="kernel")
    saved = save(registry)
    resumed = VariableRegistry()
    resumed.install()
    resumed.restore(saved)
    other = tf.Variable([1.0, 2.0, 3.0])
    with pytest.raises(ResumeRefused, match=r"kernel float32\[2\]"):
        resumed.settle(saved)
    del kept, other


def test_a_variable_of_open_shape_takes_any(registry: VariableRegistry) -> None:
    variable = tf.Variable([1.0, 2.0], shape=tf.TensorShape([None]))
    saved = save(registry)
    variable.assign([1.0, 2.0, 3.0])
    registry.restore(saved)
    assert variable.numpy().tolist() == [1.0, 2.0]


def test_what_still_fits_is_restored_by_path(registry: VariableRegistry) -> None:
    before = {
        "a": tf.Variable([1.0], name="a"),
        "b": tf.Variable([2.0], name="b"),
        "gone": tf.Variable([3.0], name="gone"),
    }
    saved = save(registry)
    del before
    gc.collect()
    resumed = VariableRegistry()
    resumed.install()
    new, b, a = tf.Variable([9.0]), tf.Variable([0.0, 0.0], name="b"), tf.Variable([0.0], name="a")
    assert resumed.restore_matching(saved, no_path) == ["b float32[1]", "gone float32[1]"]
    assert (a.numpy().tolist(), b.numpy().tolist(), new.numpy().tolist()) == ([1.0], [0, 0], [9.0])


def test_a_variable_that_died_before_the_restore_is_passed_by(registry: VariableRegistry) -> None:
    kept = [tf.Variable(1.0), tf.Variable(2.0)]
    saved = save(registry)
    del kept[0]
    gc.collect()
    kept[0].assign(0.0)
    registry.restore(saved)
    assert kept[0].numpy() == 2.0


def test_a_variable_created_while_a_function_is_traced_gets_its_value_once(
    registry: VariableRegistry,
) -> None:
    def counter() -> Any:
        made: list[Any] = []

        @tf.function
        def count() -> Any:
            if not made:
                made.append(tf.Variable(0.0))
            return made[0].assign_add(1.0)

        return count

    first = counter()
    first()
    first()
    saved = save(registry)
    registry._created.clear()
    registry.restore(saved)
    again = counter()
    assert [float(again()) for _ in range(2)] == [3.0, 4.0]


def test_variables_from_before_are_adopted_once(registry: VariableRegistry) -> None:
    kept = [tf.Variable(1.0, name="b"), tf.Variable(2.0, name="a")]
    registry._created.clear()
    registry.adopt(kept)
    registry.adopt(reversed(kept))
    assert paths(save(registry)) == ["b", "a"]


# -- late and never ----------------------------------------------------------------


def resumed_registry() -> VariableRegistry:
    resumed = VariableRegistry()
    resumed.install()
    return resumed


def test_after_a_restore_nothing_is_waited_for(registry: VariableRegistry) -> None:
    kept = [tf.Variable(1.0, name="model"), tf.Variable(2.0), tf.Variable(3.0)]
    saved = save(registry)
    resumed = resumed_registry()
    model = tf.Variable(0.0, name="model")
    doubt = resumed.restore_all(saved)
    assert model.numpy() == 1.0
    assert "2 variable(s) of the saved state do not exist in this attempt" in doubt
    assert tf.Variable(0.5).numpy() == 0.5
    assert resumed.created == registry.created - 1
    del kept


def test_what_came_late_is_certain_where_a_named_object_has_it(registry: VariableRegistry) -> None:
    kept = [tf.Variable(value, name="slot") for value in (1.0, 2.0)]

    def first_is_named(variable: Any) -> str:
        return "optimizer/slot" if variable is kept[0] else ""

    saved = save(registry, first_is_named)
    resumed = resumed_registry()
    resumed.restore(saved)
    kept = [tf.Variable(0.0, name="slot") for _ in range(2)]
    assert [variable.numpy() for variable in kept] == [1.0, 2.0]
    doubt = resumed.settle(saved, first_is_named)
    assert "1 variable(s) of the saved state were created late" in doubt


def test_another_late_name_is_refused_behind_the_constructor(registry: VariableRegistry) -> None:
    kept = tf.Variable(1.0, name="slot")
    saved = save(registry)
    resumed = resumed_registry()
    resumed.restore(saved)
    other = tf.Variable(0.0, name="probe")
    assert other.numpy() == 0.0
    with pytest.raises(ResumeRefused, match="was slot float32"):
        resumed.settle(saved)
    del kept


def test_names_and_numbers_go_on_where_they_were(registry: VariableRegistry) -> None:
    counts = {"dense": 7}
    registry.naming.use_counts(lambda: dict(counts), counts.update, "keras")
    kept = tf.Variable(1.0)
    saved = save(registry)
    counts["dense"] = 2
    counts["add"] = 1
    registry.restore_all(saved)
    assert counts == {"dense": 7, "add": 1}
    del kept


def test_a_variable_is_called_by_the_path_that_a_framework_tells(
    registry: VariableRegistry,
) -> None:
    with registry.naming.creating("dense/kernel"):
        kept = [tf.Variable(0.0, name="kernel")]
    kept.append(tf.Variable(0.0, name="kernel"))
    assert paths(save(registry)) == ["dense/kernel", "kernel"]
