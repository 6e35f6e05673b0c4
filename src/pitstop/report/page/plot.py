"""One panel as a figure: a drawing that is stretched, and its labels in HTML beside it.  Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from xml.etree.ElementTree import Element

from pitstop.report.page.element import Child, element
from pitstop.report.page.scale import Scale, scale_of, shows_limit
from pitstop.report.timeline import Mark, MarkKind, Panel, Point, Series, Unit, value_text

WIDTH, HEIGHT = 1000, 100
_TICKS = 3
_TALL = frozenset({"loss"})
_LINES = frozenset({MarkKind.STOP, MarkKind.FAULT, MarkKind.END})
_MOST_LINES = 12


def figure(panel: Panel, across: Scale, marks: Sequence[Mark] = ()) -> Element:
    scale = scale_of(panel)
    drawing = _drawing(panel, across, scale, _telling(marks))
    size = "plot tall" if panel.id in _TALL else "plot"
    return element(
        "figure",
        _caption(panel, scale),
        element("div", _labels(panel, scale), drawing, class_=size),
        class_="panel",
    )


def line_path(points: Iterable[tuple[float, float]]) -> str:
    """The `d` of a line through points of the drawing; others than finite ones interrupt it."""
    parts = []
    for drawable, run in groupby(points, key=lambda point: math.isfinite(point[1])):
        if drawable:
            pairs = [f"{_short(x)} {_short(y)}" for x, y in run]
            parts.append("M" + "L".join(pairs) + ("h0" if len(pairs) == 1 else ""))
    return "".join(parts)


def _caption(panel: Panel, scale: Scale) -> Element:
    names: list[Child] = [
        element("span", element("i", class_=_key(each, place)), each.name, class_="name")
        for place, each in enumerate(panel.series)
    ]
    if panel.limit is not None:
        beyond = "" if shows_limit(panel, scale) else ", far above"
        text = f"{panel.limit_name} {value_text(panel.limit, panel.unit)}{beyond}"
        names.append(element("span", element("i", class_="key limit"), text, class_="name"))
    kind = " (logarithmic)" if scale.is_log else ""
    return element(
        "figcaption",
        element("strong", panel.title + kind),
        element("span", *names, class_="legend"),
        element("output", class_="now"),
    )


def _key(series: Series, place: int) -> str:
    return "key forecast s0" if series.is_forecast else f"key s{place}"


def _labels(panel: Panel, scale: Scale) -> Element:
    labels = (
        element("span", value_text(tick, panel.unit), style=f"top:{100 - 100 * at:.1f}%")
        for tick in scale.ticks(_TICKS)
        if 0.0 <= (at := scale.place(tick)) <= 1.0
    )
    return element("div", *labels, class_="y", aria_hidden="true")


def _drawing(panel: Panel, across: Scale, scale: Scale, marks: Sequence[Mark]) -> Element:
    drawn: list[Child] = [_level(scale.place(tick), "grid") for tick in scale.ticks(_TICKS)]
    drawn += [
        _path(f"M{_short(WIDTH * across.place(mark.seconds))} 0V{HEIGHT}", f"mark {mark.kind}")
        for mark in marks
    ]
    if panel.limit is not None and shows_limit(panel, scale):
        drawn.append(_level(scale.place(panel.limit), "limit"))
    for place, each in enumerate(panel.series):
        placed = _placed(each.points, across, scale)
        line = line_path(placed)
        if place == 0 and panel.unit is not Unit.PLAIN:
            drawn.append(_area(placed, line))
        drawn += _series(placed, line, each, place)
    return element(
        "svg",
        *drawn,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=_in_words(panel),
    )


def _telling(marks: Sequence[Mark]) -> Sequence[Mark]:
    return [mark for mark in marks if mark.kind in _LINES][-_MOST_LINES:]


def _placed(points: Sequence[Point], across: Scale, scale: Scale) -> list[Point]:
    if not points:
        return []
    times, values = zip(*points, strict=True)
    places = zip(values, across.places(times), scale.places(values), strict=True)
    return [
        (WIDTH * x, HEIGHT * (1 - y) if math.isfinite(value) else value) for value, x, y in places
    ]


def _series(placed: list[Point], line: str, series: Series, place: int) -> list[Child]:
    if series.is_dots:
        dots = "".join(f"M{_short(x)} {_short(y)}h0" for x, y in placed if math.isfinite(y))
        return [_path(line, f"thin s{place}"), _path(dots, f"dots s{place}")]
    kind = "line forecast s0" if series.is_forecast else f"line s{place}"
    return [_path(line, kind)]


def _area(placed: list[Point], line: str) -> Element | None:
    if not placed or not all(math.isfinite(y) for _, y in placed):
        return None
    first, last = _short(placed[0][0]), _short(placed[-1][0])
    return element("path", d=f"{line}L{last} {HEIGHT}L{first} {HEIGHT}Z", class_="area s0")


def _path(d: str, names: str) -> Element:
    return element("path", d=d, class_=names, vector_effect="non-scaling-stroke")


def _level(at: float, name: str) -> Element:
    return _path(f"M0 {_short(HEIGHT * (1 - at))}H{WIDTH}", name)


def _in_words(panel: Panel) -> str:
    measured = replace(panel, series=tuple(each for each in panel.series if not each.is_forecast))
    values = measured.values() or panel.values()
    low, high = (value_text(each, panel.unit) for each in (min(values), max(values)))
    limit = f"; {panel.limit_name} {value_text(panel.limit, panel.unit)}" if panel.limit else ""
    return f"{panel.title} between {low} and {high}{limit}"


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
