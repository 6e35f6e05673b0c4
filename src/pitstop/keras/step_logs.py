"""What a training step returned: metrics by name, as tensors, arrays or numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf


def numbers(logs: Mapping[str, Any]) -> dict[str, float]:
    """The scalars among the logs."""
    return {name: float(value) for name, value in logs.items() if _is_scalar(value)}


def plain(logs: Mapping[str, Any]) -> dict[str, Any]:
    """The scalars with tensors as NumPy scalars, which keep every bit."""
    return {key: value[()] for key, value in _as_arrays(logs)}


def _is_scalar(value: Any) -> bool:
    return isinstance(value, float | int) or getattr(value, "shape", None) == ()


def _as_arrays(logs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in logs.items():
        array = tf.convert_to_tensor(value).numpy()
        if getattr(array, "ndim", 0) == 0:
            yield key, array if hasattr(array, "dtype") else tf.constant(value).numpy()
