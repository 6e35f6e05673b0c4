"""Measuring how two saved variables differ."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from pitstop.comparison.difference import TensorDifference, largest_difference, measure, values
from pitstop.comparison.record import Saved, load_run
from pitstop.errors import CheckpointCorrupt
from pitstop.store.manifest import TENSORS_FILE
from tests.comparison.runs import float32, make_run, records, save_arrays

NAME = "variables/00000/kernel"
_FINITE = st.floats(-1e6, 1e6, width=32)


def _saved(path: Path, array: NDArray[Any]) -> Saved:
    folder = make_run(path, records(1))
    save_arrays(folder, 1, {NAME: array})
    [found] = load_run(path).saved.values()
    return found


def test_elements_are_counted_by_their_bits(tmp_path: Path) -> None:
    one = _saved(tmp_path / "a", float32(1.0, 0.0, math.nan, 4.0))
    other = _saved(tmp_path / "b", float32(1.5, -0.0, math.nan, 4.0))
    assert measure(NAME, one, other) == TensorDifference(NAME, "values", 2, 4, 0.5)


@pytest.mark.parametrize("array", [float32(), np.float32(3).reshape(())])
def test_empty_and_scalar_variables(tmp_path: Path, array: NDArray[Any]) -> None:
    one, other = _saved(tmp_path / "a", array), _saved(tmp_path / "b", array)
    found = measure(NAME, one, other)
    assert (found.differing, found.elements) == (0, array.size)


def test_damage_is_not_taken_for_a_difference(tmp_path: Path) -> None:
    one, other = (_saved(tmp_path / name, float32(1.0, 2.0)) for name in "ab")
    file = other.path / TENSORS_FILE
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(CheckpointCorrupt, match="kernel"):
        measure(NAME, one, other)


@given(
    arrays.arrays(np.float32, 5, elements=_FINITE), arrays.arrays(np.float32, 5, elements=_FINITE)
)
def test_the_largest_difference(one: NDArray[np.float32], other: NDArray[np.float32]) -> None:
    expected = max(abs(float(a) - float(b)) for a, b in zip(one, other, strict=True))
    assert largest_difference(one, other) == expected


def test_only_finite_elements_have_a_difference() -> None:
    assert largest_difference(float32(math.nan, 1.0), float32(2.0, 1.5)) == 0.5
    assert largest_difference(float32(math.inf), float32(2.0)) is None
    assert largest_difference(None, None) is None


def test_large_integers_do_not_wrap_around() -> None:
    one, other = np.array([-(2**62)]), np.array([2**62])
    assert largest_difference(one, other) == 2.0**63


def test_bfloat16_is_read_as_numbers() -> None:
    found = values(bytes.fromhex("803f40c0"), "BF16")
    assert found is not None
    assert found.tolist() == [1.0, -3.0]
    assert values(b"\0", "F8_E4M3") is None
