"""Lookup tables that can be changed: their entries, read and set."""

from typing import Any

import numpy as np
import tensorflow as tf

KINDS = (tf.lookup.experimental.MutableHashTable, tf.lookup.experimental.DenseHashTable)

Array = np.ndarray[Any, Any]


def entries(table: Any) -> tuple[Array, Array]:
    """Keys and values in a table, a row each; raises `AttributeError` where it cannot be read."""
    keys, values = (each.numpy() for each in table.export())
    if not isinstance(table, tf.lookup.experimental.DenseHashTable):
        return keys, values
    # It exports its buckets: those without an entry have one of two keys.
    unused = [
        tf.convert_to_tensor(key, table.key_dtype) for key in (table._empty_key, table._deleted_key)
    ]
    keys = keys.reshape(-1, *unused[0].shape)
    values = values.reshape(-1, *table._default_value.shape)
    taken = ~np.logical_or(*(_rows_with(key.numpy(), keys) for key in unused))
    return keys[taken], values[taken]


def _rows_with(key: Any, keys: Array) -> Array:
    same = np.asarray(keys == key).reshape(len(keys), -1)
    return np.asarray(same.all(axis=1))


def refill(table: Any, keys: Any, values: Any) -> None:
    present, _ = entries(table)
    if len(present):
        table.remove(tf.constant(present, table.key_dtype))
    if len(keys):
        inserted = tf.constant(values, table.value_dtype)
        table.insert(tf.constant(keys, table.key_dtype), inserted)
