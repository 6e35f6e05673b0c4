"""Robust trends of a handful of points.  Pure.

Sources: the slope is that of Theil (1950) and Sen (1968, "Estimates of the Regression
Coefficient Based on Kendall's Tau"), whose interval comes from the ordered slopes; the
steadiness is Kendall's tau (1938), as in the trend test of Mann (1945).
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence

from pitstop.record import record

_NORMAL_95 = 1.96


@record
class Point:
    """A value at a time, in seconds."""

    time_seconds: float
    value: float


@record
class Trend:
    """A line through points.

    Attributes:
        per_second: the median slope; `low` and `high` bound it with 95 %.
        tau: 1 where every later point is higher, 0 without a direction, -1 where lower.
    """

    per_second: float
    low: float
    high: float
    tau: float


def trend(points: Sequence[Point]) -> Trend:
    """The trend of at least two points with different times."""
    pairs = list(itertools.combinations(points, 2))
    slopes = sorted(
        (b.value - a.value) / (b.time_seconds - a.time_seconds)
        for a, b in pairs
        if b.time_seconds != a.time_seconds
    )
    low, high = _interval(slopes, len(points))
    concordant = sum(b.value > a.value for a, b in pairs) - sum(b.value < a.value for a, b in pairs)
    return Trend(statistics.median(slopes), low, high, concordant / len(pairs))


def _interval(slopes: Sequence[float], count: int) -> tuple[float, float]:
    """Sen's 95 % interval: ranks around the median by the variance of Kendall's statistic."""
    spread = _NORMAL_95 * math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    below = int((len(slopes) - spread) / 2)
    above = math.ceil((len(slopes) + spread) / 2)
    return slopes[max(0, below)], slopes[min(len(slopes) - 1, above)]
