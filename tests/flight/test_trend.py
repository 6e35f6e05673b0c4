"""Trends of a few points."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.flight.series import Point, trend


def line(slope: float, count: int = 20) -> list[Point]:
    return [Point(float(i), 5.0 + slope * i) for i in range(count)]


def test_the_slope_of_a_line() -> None:
    found = trend(line(3.0))
    assert found.per_second == pytest.approx(3.0)
    assert found.low == pytest.approx(3.0)
    assert found.tau == 1.0


def test_a_quarter_of_wild_points_does_not_move_it() -> None:
    points = [Point(p.time_seconds, 1e9 if i % 4 == 0 else p.value) for i, p in enumerate(line(2))]
    assert trend(points).per_second == pytest.approx(2.0, rel=0.01)


def test_what_goes_up_and_down_has_no_direction() -> None:
    found = trend([Point(float(i), float(i % 2)) for i in range(20)])
    assert abs(found.tau) < 0.1
    assert found.low <= 0.0


def test_equal_times_count_for_nothing() -> None:
    assert trend([Point(0.0, 1.0), Point(0.0, 9.0), Point(1.0, 2.0)]).per_second == -3.0


@given(st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=30))
def test_the_interval_holds_the_slope(values: list[int]) -> None:
    found = trend([Point(float(i), float(value)) for i, value in enumerate(values)])
    assert found.low <= found.per_second
    assert -1.0 <= found.tau <= 1.0
