"""What is in a mutable lookup table is read without its free buckets, and set again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pitstop.engine.script_state.frozen import Tensor
from pitstop.tensorflow import tables

_Dense = tf.lookup.experimental.DenseHashTable
_Mutable = tf.lookup.experimental.MutableHashTable

TABLES = {
    "scalars": (
        lambda: _Dense(tf.int64, tf.int64, 0, -1, -2),
        tf.constant([1, 4], tf.int64),
        tf.constant([5, 6], tf.int64),
    ),
    "vectors": (
        lambda: _Dense(tf.int64, tf.float32, tf.zeros(3), [-1, -1], [-2, -2]),
        tf.constant([[1, -1], [2, 3]], tf.int64),
        tf.ones((2, 3)),
    ),
    "dense-strings": (
        lambda: _Dense(tf.string, tf.int64, 0, "", "gone"),
        tf.constant([b"a", b"\xff\x00"]),
        tf.constant([5, 6], tf.int64),
    ),
    "rows": (
        lambda: _Mutable(tf.int64, tf.float32, tf.zeros(3)),
        tf.constant([1, 4], tf.int64),
        tf.ones((2, 3)),
    ),
    "strings": (
        lambda: _Mutable(tf.int64, tf.string, "none"),
        tf.constant([1, 4], tf.int64),
        tf.constant([b"\xff\x00", b""]),
    ),
}


def _by_key(table: Any) -> dict[Any, Any]:
    keys, values = (each.tolist() for each in tables.entries(table))
    return dict(zip(map(str, keys), values, strict=True))


@pytest.mark.parametrize(("make", "keys", "values"), TABLES.values(), ids=TABLES)
def test_a_table_gets_its_entries_again(make: Any, keys: Any, values: Any) -> None:
    table, other = make(), make()
    table.insert(keys, values)
    other.insert(keys[:1], values[1:])
    other.insert(keys[1:], values[1:])
    other.remove(keys[1:])
    assert len(_by_key(table)) == 2
    assert len(_by_key(other)) == 1
    tables.refill(other, *(Tensor(each).value for each in tables.entries(table)))
    assert _by_key(other) == _by_key(table)
    np.testing.assert_array_equal(other.lookup(keys).numpy(), values.numpy())
    tables.refill(other, (), ())
    assert _by_key(other) == {}
