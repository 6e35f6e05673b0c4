"""Thinned lines: small, in order, and with the same outline."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from pitstop.report.timeline import thin

_VALUES = st.one_of(st.floats(-1e6, 1e6), st.sampled_from([math.nan, math.inf]))
_POINTS = st.lists(_VALUES, min_size=1, max_size=300).map(
    lambda values: [(float(i), value) for i, value in enumerate(values)]
)


@given(_POINTS, st.integers(1, 20))
def test_it_is_small_in_order_and_keeps_the_extremes(
    points: list[tuple[float, float]], columns: int
) -> None:
    kept = thin(points, columns)
    assert len(kept) <= max(5 * columns, columns)
    assert [time for time, _ in kept] == sorted(time for time, _ in kept)
    assert set(map(str, kept)) <= set(map(str, points))
    finite = [value for _, value in points if math.isfinite(value)]
    left = [value for _, value in kept if math.isfinite(value)]
    if finite:
        assert (min(left), max(left)) == (min(finite), max(finite))
    assert (len(left) < len(kept)) == (len(finite) < len(points))


def test_a_spike_of_one_sample_stays() -> None:
    points = [(float(i), 1.0) for i in range(10_000)]
    points[5_000] = (5_000.0, 9.0)
    kept = thin(points, 10)
    assert (5_000.0, 9.0) in kept
    assert len(kept) <= 40
    assert (kept[0], kept[-1]) == (points[0], points[-1])


def test_few_points_are_left_alone() -> None:
    assert thin([(1.0, 2.0), (1.0, 3.0)], 5) == ((1.0, 2.0), (1.0, 3.0))
    assert thin([], 5) == ()
