"""Distances of numbers, counted in the numbers between them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.comparison.difference import Ulps, ulps_apart

_FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
_FLOAT64 = st.floats(allow_nan=False, allow_infinity=False)


@given(st.floats(-(2.0**126), 2.0**126, width=32))
def test_the_next_float32_is_one_away(value: float) -> None:
    following = float(np.nextafter(np.float32(value), np.float32(np.inf)))
    assert ulps_apart(value, following) == Ulps(1, "float32")


@given(_FLOAT64, _FLOAT64)
def test_distance_is_symmetric_and_zero_only_between_equals(one: float, other: float) -> None:
    found = ulps_apart(one, other)
    assert found == ulps_apart(other, one)
    assert found is not None
    assert (found.count == 0) == (one == other)


@given(_FLOAT32, _FLOAT32, _FLOAT32)
def test_distances_add_up_along_the_line(one: float, two: float, three: float) -> None:
    low, middle, high = sorted((one, two, three))
    parts = [ulps_apart(low, middle), ulps_apart(middle, high), ulps_apart(low, high)]
    counts = [part.count for part in parts if part is not None]
    assert counts[0] + counts[1] == counts[2]


def test_numbers_that_are_no_float32_are_counted_in_float64() -> None:
    assert ulps_apart(0.1, math.nextafter(0.1, 1)) == Ulps(1, "float64")
    assert ulps_apart(1e300, math.nextafter(1e300, 0)) == Ulps(1, "float64")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_there_is_no_distance_to_what_is_not_finite(value: float) -> None:
    assert ulps_apart(value, 1.0) is None
    assert ulps_apart(1.0, value) is None
