"""Fewer points that draw the same line.  Pure.

M4: of each column of the picture the first, the least, the greatest and the last
point (Jugel, Jerzak, Hackenbroich, Markl: "M4: A Visualization-Oriented Time Series
Data Aggregation", VLDB 2014).  A spike of one sample stays a spike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from pitstop.report.timeline import Point


def thin(points: Sequence[Point], columns: int) -> tuple[Point, ...]:
    """At most four points of each of so many equal spans of time, all in order.

    A span that holds values that are not finite keeps the first of them too.
    """
    if len(points) <= columns:
        return tuple(points)
    start, end = points[0][0], points[-1][0]
    width = (end - start) / columns or 1.0
    spans = groupby(points, key=lambda point: min(columns - 1, int((point[0] - start) / width)))
    return tuple(point for _, span in spans for point in _corners(list(span)))


def _corners(points: list[Point]) -> list[Point]:
    finite = [point for point in points if math.isfinite(point[1])]
    broken = [point for point in points if not math.isfinite(point[1])][:1]
    if not finite:
        return broken
    by_value = sorted(finite, key=lambda point: point[1])
    return sorted({finite[0], by_value[0], by_value[-1], finite[-1], *broken}, key=_time)


def _time(point: Point) -> float:
    return point[0]
