"""What a training step returned: metrics by name, as tensors, arrays or numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf


def numbers(logs: Mapping[str, Any]) -> dict[str, float]:
    """The scalars among the logs that are numbers."""
    found = {name: _number(value) for name, value in _flat(logs) if _is_scalar(value)}
    return {name: number for name, number in found.items() if number is not None}


def plain(logs: Mapping[str, Any]) -> dict[str, Any]:
    """The scalars with tensors as NumPy scalars, which keep every bit."""
    return {key: value[()] for key, value in _as_arrays(logs)}


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None  # a text, or a complex number


def _is_scalar(value: Any) -> bool:
    return isinstance(value, float | int) or getattr(value, "shape", None) == ()


def _flat(logs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each with its name alone, as Keras tells callbacks."""
    for key, value in logs.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        else:
            yield key, value


def _as_arrays(logs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in _flat(logs):
        try:
            array = tf.convert_to_tensor(value).numpy()
        except (TypeError, ValueError):
            continue  # an object, or a list of several kinds
        if getattr(array, "ndim", None) == 0:  # not a text, which comes as bytes
            yield key, array
