"""Lines of a few characters."""

from __future__ import annotations

import math

from pitstop.report.timeline import Point
from pitstop.report.trend_lines import sparkline


def _points(*values: float) -> list[Point]:
    return [(float(i), value) for i, value in enumerate(values)]


def test_it_rises_from_the_lowest_to_the_highest_block() -> None:
    assert sparkline(_points(*range(8)), 8) == "▁▂▃▄▅▆▇█"


def test_the_last_value_of_a_span_counts() -> None:
    assert sparkline(_points(0, 1, 1, 0), 2) == "█▁"


def test_what_is_not_finite_is_a_cross() -> None:
    assert sparkline(_points(0, 1, math.nan), 3) == "▁█✕"


def test_between_two_samples_nothing_changes() -> None:
    assert sparkline([(0.0, 0.0), (1.0, 0.0), (2.0, 0.5), (9.0, 1.0)], 4) == "▅▅▅█"


def test_a_flat_line_and_none() -> None:
    assert sparkline(_points(2, 2), 2) == "▅▅"
    assert sparkline(_points(math.nan), 4) == ""
    assert sparkline([], 4) == ""
