"""How two saved variables differ, read from the checkpoints themselves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitstop.comparison.difference import TensorDifference
from pitstop.comparison.record import Saved
from pitstop.store.reader import read_tensor

_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2",
    "I8": "i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1",
}  # fmt: skip


def measure(name: str, one: Saved, other: Saved) -> TensorDifference:
    """What differs between two values of one variable of the same dtype and shape.

    Raises `CheckpointCorrupt`, or `EnvironmentFault` where this process may not read one.
    """
    entry = one.tensors[name]
    before = read_tensor(one.path, one.manifest, name)
    after = read_tensor(other.path, other.manifest, name)
    elements = math.prod(entry.shape)
    return TensorDifference(
        name,
        "values",
        differing=_differing(before, after, elements),
        elements=elements,
        max_abs_difference=largest_difference(
            values(before, entry.dtype), values(after, entry.dtype)
        ),
    )


def values(data: bytes, dtype: str) -> NDArray[Any] | None:
    """The elements as numbers, None for types that NumPy has no numbers for."""
    if dtype == "BF16":  # the upper half of a float32
        upper = np.frombuffer(data, "<u2").astype("<u4")
        return (upper << 16).view("<f4")
    return np.frombuffer(data, _DTYPES[dtype]) if dtype in _DTYPES else None


def largest_difference(one: NDArray[Any] | None, other: NDArray[Any] | None) -> float | None:
    """The largest absolute difference of two elements that are both finite."""
    if one is None or other is None:
        return None
    before, after = one.astype(np.float64), other.astype(np.float64)
    finite = np.isfinite(before) & np.isfinite(after)
    return float(np.abs(before[finite] - after[finite]).max()) if finite.any() else None


def _differing(before: bytes, after: bytes, elements: int) -> int:
    width_bytes = len(before) // max(elements, 1)
    pair = [
        np.frombuffer(data, np.uint8).reshape(elements, width_bytes) for data in (before, after)
    ]
    return int((pair[0] != pair[1]).any(axis=1).sum())
