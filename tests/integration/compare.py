"""Compares what two runs of `scripts/train.py` wrote, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def assert_identical(expected: Path, actual: Path) -> None:
    """Fails with the first difference between two .npz files, if there is one."""
    difference = first_difference(expected, actual)
    assert difference is None, difference


def first_difference(expected: Path, actual: Path) -> str | None:
    """The first array, in order of writing, that is not the same bits; None when all are."""
    with np.load(expected) as before, np.load(actual) as after:
        if before.files != after.files:
            return f"arrays: {sorted(set(before.files) ^ set(after.files))} are in one file only"
        differences = (_difference(name, before[name], after[name]) for name in before.files)
        return next((text for text in differences if text), None)


def _difference(name: str, expected: NDArray[Any], actual: NDArray[Any]) -> str:
    if (expected.dtype, expected.shape) != (actual.dtype, actual.shape):
        return (
            f"{name}: {expected.dtype}{expected.shape} expected, got {actual.dtype}{actual.shape}"
        )
    if expected.tobytes() == actual.tobytes():
        return ""
    if expected.dtype.kind == "U":
        return f"{name}: {expected} expected, got {actual}"
    index = _first_index(expected, actual)
    return f"{name}{list(index)}: {expected[index]!r} expected, got {actual[index]!r}"


def _first_index(expected: NDArray[Any], actual: NDArray[Any]) -> tuple[int, ...]:
    # Bytes, not values: NaN equals itself here, and 0.0 is not -0.0.
    width_bytes = expected.dtype.itemsize
    before = np.frombuffer(expected.tobytes(), np.uint8).reshape(-1, width_bytes)
    after = np.frombuffer(actual.tobytes(), np.uint8).reshape(-1, width_bytes)
    flat = int((before != after).any(axis=1).argmax())
    return tuple(int(part) for part in np.unravel_index(flat, expected.shape))
