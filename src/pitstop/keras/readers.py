"""Which trainings have read a dataset: each reading draws the next seeds of its shuffles."""

import weakref
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from pitstop.tensorflow import pipeline

_READERS: weakref.WeakKeyDictionary[tf.data.Dataset, list[str]] = weakref.WeakKeyDictionary()


def note(arguments: Mapping[str, Any], training: int) -> None:
    """A training begins to read; one that goes on in the same process is the same reader."""
    data, reader = arguments.get("x"), f"{training} for {arguments.get('epochs', 1)} epochs"
    if isinstance(data, tf.data.Dataset) and reader not in _READERS.setdefault(data, []):
        _READERS[data].append(reader)


def of(data: Any) -> tuple[str, ...]:
    """Those that have begun so far; none where the order and the values are always the same."""
    is_dataset = isinstance(data, tf.data.Dataset)
    readers = _READERS.get(data, []) if is_dataset else []
    return tuple(readers) if readers and pipeline.draws(data) else ()
