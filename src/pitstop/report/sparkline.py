"""A line of a few characters that shows how a quantity went.  Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pitstop.report.timeline import Point

_BLOCKS = "▁▂▃▄▅▆▇█"
_NOT_FINITE = "✕"


def sparkline(points: Sequence[Point], width: int) -> str:
    """At most `width` characters: the last value of each equal span of time.

    A span without a sample shows what was before it, one that holds a value which is not
    finite a cross.
    """
    finite = [value for _, value in points if math.isfinite(value)]
    if not finite:
        return ""
    least, most = min(finite), max(finite)
    spans = _spans(points, min(width, len(points)))
    line = ""
    for span in spans:
        line += _sign(span, least, most) or line[-1]
    return line


def _spans(points: Sequence[Point], width: int) -> list[list[float]]:
    start, end = points[0][0], points[-1][0]
    spans: list[list[float]] = [[] for _ in range(width)]
    for seconds, value in points:
        place = (seconds - start) / (end - start) if end > start else 0.0
        spans[min(width - 1, int(place * width))].append(value)
    return spans


def _sign(span: Sequence[float], least: float, most: float) -> str:
    if not span:
        return ""
    if not all(math.isfinite(value) for value in span):
        return _NOT_FINITE
    height = (span[-1] - least) / (most - least) if most > least else 0.5
    return _BLOCKS[min(len(_BLOCKS) - 1, int(height * len(_BLOCKS)))]
