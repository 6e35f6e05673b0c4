"""What is drawn of an attempt: quantities over time, and what happened when.  Pure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from enum import StrEnum
from itertools import groupby

from pitstop.diagnosis import phrases
from pitstop.diagnosis.event_words import MarkKind, news_of
from pitstop.journal import Entry
from pitstop.record import Frozen

Point = tuple[float, float]
"""Seconds since the epoch, and a value; NaN and infinities interrupt a line."""


class Unit(StrEnum):
    PLAIN = ""
    COUNT = "count"
    BYTES = "bytes"
    SHARE = "share"
    PER_SECOND = "per second"


class Series(Frozen):
    """One quantity over time."""

    name: str
    points: tuple[Point, ...]
    is_dots: bool = False  # measured rarely: every point is shown
    is_forecast: bool = False  # it lies after the end of its timeline

    def finite(self) -> tuple[Point, ...]:
        return tuple(point for point in self.points if math.isfinite(point[1]))


class Panel(Frozen):
    """Quantities that share an axis; the limit is a value that ends the run when it is reached."""

    id: str
    title: str
    unit: Unit
    series: tuple[Series, ...]
    limit: float | None = None
    limit_name: str = ""

    def values(self) -> tuple[float, ...]:
        return tuple(value for each in self.series for _, value in each.finite())


class Mark(Frozen):
    seconds: float
    kind: MarkKind
    text: str


class Timeline(Frozen):
    """One attempt over time; panels that have something to show."""

    started_seconds: float
    ended_seconds: float
    panels: tuple[Panel, ...] = ()
    marks: tuple[Mark, ...] = ()

    @property
    def seconds(self) -> float:
        return max(0.0, self.ended_seconds - self.started_seconds)

    @property
    def drawn_seconds(self) -> float:
        lines = (each for panel in self.panels for each in panel.series if each.is_forecast)
        ends = (each.points[-1][0] - self.started_seconds for each in lines)
        return max([self.seconds, *ends])


def panels_with_values(panels: Iterable[Panel]) -> tuple[Panel, ...]:
    def drawn(each: Series) -> bool:
        return len(each.finite()) > (0 if each.is_dots else 1)

    kept = (replace(each, series=tuple(filter(drawn, each.series))) for each in panels)
    return tuple(panel for panel in kept if panel.values())


def value_text(value: float, unit: Unit) -> str:
    """`1.5 GB`, `43%`, `12.3/s`, or four digits."""
    match unit:
        case Unit.BYTES:
            return phrases.size(round(value))
        case Unit.COUNT:
            return f"{value:,.0f}"
        case Unit.SHARE:
            return f"{value:.0%}"
        case Unit.PER_SECOND:
            return f"{value:.3g}/s" if value < 100 else f"{value:,.0f}/s"
        case _:
            return f"{value:.4g}"


def clock(seconds: float, zone: tzinfo | None = None) -> str:
    """`2026-11-21 14:02:11 UTC`, in the zone of this machine unless another is given."""
    when = datetime.fromtimestamp(seconds, zone).astimezone(zone)
    return when.strftime("%Y-%m-%d %H:%M:%S %Z").strip()


def thin(points: Sequence[Point], columns: int) -> tuple[Point, ...]:
    """At most four points of each of so many equal spans of time, all in order."""
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
    return sorted(
        {finite[0], by_value[0], by_value[-1], finite[-1], *broken}, key=lambda point: point[0]
    )


def marks(entries: Iterable[Entry]) -> tuple[Mark, ...]:
    return tuple(
        Mark(entry.time_seconds, kind, text)
        for entry in entries
        for kind, text in (news_of(entry.event),)
        if kind and text
    )
