"""Python values survive JSON and arrays bit for bit, or are refused by name."""

from __future__ import annotations

import enum
import json
import math
import random
import struct
from collections import OrderedDict, deque
from collections.abc import Hashable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from pitstop.engine.values.python_state import Encoder, NotPortable, decode

NUMBERS = st.integers() | st.floats() | st.booleans()
HASHABLE: st.SearchStrategy[Hashable] = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4) | st.binary(),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=4,
)
DTYPES = npst.scalar_dtypes().filter(lambda dtype: dtype.itemsize > 0)
ARRAYS = npst.arrays(DTYPES, npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
SCALARS = npst.arrays(DTYPES, ()).map(lambda array: array[()])
LEAVES = st.none() | NUMBERS | st.text(max_size=6) | st.binary(max_size=6) | ARRAYS | SCALARS
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES | st.lists(st.floats(), min_size=60, max_size=70),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.builds(deque, st.lists(inner, max_size=4), st.none() | st.integers(4, 9))
        | st.dictionaries(HASHABLE, inner, max_size=4)
        | st.dictionaries(st.sampled_from(["$float", "$dict", "plain", ""]), inner)
        | st.sets(HASHABLE, max_size=4)
    ),
    max_leaves=12,
)


def round_trip(value: Any) -> Any:
    encoder = Encoder("python/")
    text = json.dumps(encoder.encode(value), allow_nan=False)
    stored = {name: memoryview(array.tobytes()) for name, array in encoder.arrays.items()}
    return decode(json.loads(text), stored)


def bits(value: Any) -> Any:
    """A form of a value that is equal exactly where types and bits are."""
    kind = type(value).__name__
    if isinstance(value, np.ndarray | np.generic):
        return kind, str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, float):
        return kind, "nan" if math.isnan(value) else struct.pack("<d", value)
    if isinstance(value, list | tuple):
        return kind, [bits(item) for item in value]
    if isinstance(value, deque):
        return kind, [bits(item) for item in value], value.maxlen
    if isinstance(value, set | frozenset):
        return kind, sorted(repr(bits(item)) for item in value)
    if isinstance(value, Mapping):
        return kind, [(bits(key), bits(item)) for key, item in value.items()]
    return kind, value


@given(VALUES)
def test_any_nested_value_comes_back(value: Any) -> None:
    assert bits(round_trip(value)) == bits(value)


@pytest.mark.parametrize("value", [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 5e-324])
def test_special_floats(value: float) -> None:
    assert bits(round_trip([value, np.float32(value)])) == bits([value, np.float32(value)])
    assert bits(round_trip([value] * 100)) == bits([value] * 100)


def test_random_streams() -> None:
    generator = random.Random(5)
    generator.gauss(0, 1)  # leaves a second number waiting in the state
    assert round_trip(generator.getstate()) == generator.getstate()
    legacy = np.random.RandomState(5)
    legacy.normal()
    restored = np.random.RandomState()
    restored.set_state(round_trip(legacy.get_state()))
    assert restored.normal(size=5).tobytes() == legacy.normal(size=5).tobytes()


@pytest.mark.parametrize(
    "dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, np.longdouble]
)
def test_dtypes_that_numpy_does_not_abbreviate(dtype: Any) -> None:
    array = np.arange(4).astype(dtype)
    assert bits(round_trip([array, array[1]])) == bits([array, array[1]])


def test_numpy_strings_and_times() -> None:
    values = [
        np.str_("ä"),
        np.str_(""),
        np.bytes_(b""),
        np.datetime64("2024-01-01"),
        np.array(["a"]),
    ]
    assert bits(round_trip(values)) == bits(values)


def test_arrays_are_copied_at_once() -> None:
    array = np.arange(3)
    encoder = Encoder("p")
    encoder.encode(array)
    array[:] = 9
    assert encoder.arrays["p0000"].tolist() == [0, 1, 2]


def test_a_view_with_gaps_is_stored_without_them() -> None:
    array = np.arange(12).reshape(3, 4).T[::2]
    assert bits(round_trip(array)) == bits(array)


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1), (2, 0, 1)], ids=str)
def test_an_array_keeps_its_order_in_memory(axes: tuple[int, ...]) -> None:
    array = np.arange(24.0).reshape(2, 3, 4).transpose(axes)
    found = round_trip(array)
    assert bits(found) == bits(array)
    assert found.strides == array.strides


def test_restored_arrays_can_be_changed() -> None:
    round_trip(np.arange(3))[0] = 7


def test_long_lists_of_floats_do_not_go_through_json() -> None:
    encoder = Encoder("p")
    assert encoder.encode([0.5] * 64) == {"$floats": "p0000"}
    assert encoder.encode([0.5] * 63) == [0.5] * 63


class Colour(enum.IntEnum):
    RED = 1


class Path(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "where", "type_name"),
    [
        ({"table": [1, object()]}, "['table'][1]", "builtins.object"),
        ({(1, 2): {3: print}}, "[(1, 2)][3]", "builtins.builtin_function_or_method"),
        ({frozenset(): deque([Path("x")])}, "[frozenset()][0]", "Path"),
        ([Colour.RED], "[0]", "Colour"),
        ([OrderedDict()], "[0]", "collections.OrderedDict"),
        ((np.array([object()]),), "[0]", "numpy.ndarray"),
        ([np.zeros(2, [("a", "O")])], "[0]", "numpy.ndarray"),
        (object(), "", "builtins.object"),
    ],
)
def test_a_refusal_names_the_place(value: Any, where: str, type_name: str) -> None:
    with pytest.raises(NotPortable) as caught:
        Encoder("").encode(value)
    assert caught.value.where == where
    assert caught.value.type_name.endswith(type_name)
    assert f"{where or 'the value'} is a " in str(caught.value)


def test_a_value_inside_of_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(NotPortable, match="nested"):
        Encoder("").encode(value)


@pytest.mark.parametrize(
    "dtype",
    ["O", "[('a', '|O')]", "no such type", "[" * 300, "[{[]: 1}]", "[()]", "[" + "-" * 10_000],
    ids="1234567",
)
def test_arrays_of_objects_are_never_made(dtype: str) -> None:
    with pytest.raises(ValueError, match="are not supported"):
        decode({"$array": ["a", dtype, [1]]}, {"a": memoryview(bytes(8))})


def test_a_structured_array_comes_back() -> None:
    value = np.zeros(2, [("seen", "<i4"), ("state", "<f4", (3,))])
    value["state"][1] = 0.5
    assert bits(round_trip(value)) == bits(value)


def test_marks_of_a_newer_version_are_refused() -> None:
    with pytest.raises(ValueError, match=r"unknown mark \$tree"):
        decode({"$tree": []}, {})
