"""A form and bytes give back the value they were made of, bit for bit."""

from __future__ import annotations

import json
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from pitstop.replay.values import NotRecordable, as_form, build, first_number, flatten
from pitstop.tensorflow import private


def there_and_back(value: Any) -> Any:
    form, data = flatten(value)
    return build(as_form(json.loads(json.dumps(form))), memoryview(data))


@pytest.mark.parametrize(
    "value",
    [None, 1.5, -7, True, [], (), {}, [1, (2.0, None)], {"loss": 0.1, "more": [False]}],
)
def test_plain_values(value: Any) -> None:
    back = there_and_back(value)
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int8", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)])
def test_tensors(dtype: str, shape: tuple[int, ...]) -> None:
    tensor = tf.cast(tf.reshape(tf.range(math.prod(shape)), shape), dtype)
    back = there_and_back(tensor)
    assert (back.dtype, back.shape) == (tensor.dtype, tensor.shape)
    assert back.numpy().tobytes() == tensor.numpy().tobytes()


def test_numbers_keep_every_bit() -> None:
    assert math.copysign(1, there_and_back(-0.0)) == -1
    assert np.isnan(there_and_back(float("nan")))


@pytest.mark.parametrize(
    "value", [np.float32(0.1), np.int64(3), np.bool_(True), np.array(ml_dtypes.bfloat16(2.5))[()]]
)
def test_numpy_scalars(value: Any) -> None:
    back = there_and_back(value)
    assert (type(back), back) == (type(value), value)


def test_arrays_can_be_written() -> None:
    back = there_and_back(np.ones((2, 2), np.float16))
    assert back.dtype == np.float16
    back[0, 0] = 3


def test_what_each_replica_has_returned() -> None:
    returned = private.PER_REPLICA([tf.constant([0.5, -0.0]), tf.constant([1.5])])
    first, back = there_and_back((1, returned))
    assert first == 1
    assert type(back) is type(returned)
    for old, new in zip(returned.values, back.values, strict=True):
        assert new.numpy().tobytes() == old.numpy().tobytes()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (tf.constant("text"), "a tensor of strings"),
        (tf.constant(["text"]), "a tensor of strings"),
        (np.array(["text"], object), "a tensor of strings"),
        (1 << 64, "more than 64 bits"),
        ("text", "builtins.str"),
        ({1: 2}, "builtins.dict"),
        (tf.ragged.constant([[1], [2, 3]]), "RaggedTensor"),
        (np.zeros(1, "datetime64[s]"), "datetime64"),
    ],
)
def test_the_rest_is_refused_by_name(value: Any, words: str) -> None:
    with pytest.raises(NotRecordable, match=words):
        flatten(value)


def test_structure_is_part_of_the_form() -> None:
    assert flatten([1.0])[0] != flatten((1.0,))[0]
    assert flatten({"a": 1.0})[0] != flatten({"b": 1.0})[0]


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (tf.constant(2.5), 2.5),
        ({"accuracy": 1.0, "loss": np.float32(0.5)}, 0.5),
        ((tf.ones((2,)), [3.0, 4.0]), 3.0),
        ((tf.constant(1), None), None),
        ({}, None),
    ],
)
def test_the_first_number(value: Any, number: float | None) -> None:
    assert first_number(value) == number


def test_a_first_number_that_is_none() -> None:
    number = first_number([float("nan"), 1.0])
    assert number is not None
    assert math.isnan(number)
