"""One panel as a figure, its axes and round values: a stretched drawing, labels in HTML.  Pure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from xml.etree.ElementTree import Element

from pitstop.diagnosis.event_words import MarkKind
from pitstop.record import Frozen
from pitstop.report.page.element import Child, element
from pitstop.report.timeline import Mark, Panel, Point, Series, Unit, value_text

_NICE = (1.0, 2.0, 5.0, 10.0)
_LOGARITHMIC_FROM = 50.0
"""Losses with a larger ratio of the largest to the least are drawn on a logarithmic scale."""
_FAR_LIMIT = 4.0
"""A limit above all values by this factor is not drawn: it would flatten the line."""
_PADDING = 0.06
_EQUAL = 1e-12
_TINY = 1e-290  # values below cannot be divided any more without becoming nothing
_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
_DAY = 86400
_SHORTEST = 0.1


class Scale(Frozen):
    """An axis from `low` to `high`; on a logarithmic one equal distances are equal ratios."""

    low: float
    high: float
    is_log: bool = False

    def place(self, value: float) -> float:
        return self.places([value])[0]

    def places(self, values: Sequence[float]) -> list[float]:
        low, high = self.low, self.high
        if self.is_log:
            values = [math.log10(max(each, low)) for each in values]
            low, high = math.log10(low), math.log10(high)
        span = high - low
        return [min(1.0, max(0.0, (each - low) / span)) for each in values]

    def ticks(self, count: int) -> tuple[float, ...]:
        if not self.is_log:
            return round_values(self.low, self.high, count)
        first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        every = max(1, math.ceil((last - first + 1) / count))
        return tuple(10.0**power for power in range(first, last + 1, every))


def scale_of(panel: Panel) -> Scale:
    values = panel.values()
    low, high = min(values), max(values)
    if panel.unit is not Unit.PLAIN:
        top = _top(panel, high)
        return Scale(0.0, top * (1 + _PADDING) if top > _TINY else 1.0)
    if low > _TINY and high / low >= _LOGARITHMIC_FROM:
        return Scale(low / 1.2, high * 1.2, is_log=True)
    margin = _PADDING * (high - low)
    if margin <= _TINY + _EQUAL * abs(high):
        margin = _PADDING * abs(high) if abs(high) > _TINY else 1.0
    return Scale(low - margin, high + margin)


def axis(low: float, high: float) -> Scale:
    """The range that a page shows; never empty, also where both ends are the same."""
    return Scale(low, high if high > low else low + 1.0)


def shows_limit(panel: Panel, scale: Scale) -> bool:
    return panel.limit is not None and panel.limit <= scale.high


def round_values(low: float, high: float, count: int) -> tuple[float, ...]:
    """About `count` multiples of 1, 2 or 5 times a power of ten, all within."""
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(nice * power for nice in _NICE if nice * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(round(index * step, 12) for index in range(first, last + 1))


def time_ticks(seconds: float, count: int) -> tuple[float, ...]:
    """About `count` round times from 0 on, as people count time."""
    rough = seconds / count
    if rough < 1:
        return round_values(0.0, seconds, count) if seconds >= _SHORTEST else (0.0,)
    step = next((each for each in _SECONDS if each >= rough), None)
    step = step or _DAY * math.ceil(rough / _DAY)
    return tuple(float(index * step) for index in range(int(seconds // step) + 1))


def _top(panel: Panel, high: float) -> float:
    if panel.limit is not None and panel.limit <= _FAR_LIMIT * high:
        return max(high, panel.limit)
    return high


WIDTH, HEIGHT = 1000, 100
_TICKS = 3
_TALL = frozenset({"loss"})
_LINES = frozenset({MarkKind.STOP, MarkKind.FAULT, MarkKind.END})
_MOST_LINES = 12


def figure(panel: Panel, across: Scale, marks: Sequence[Mark] = ()) -> Element:
    scale = scale_of(panel)
    telling = [mark for mark in marks if mark.kind in _LINES][-_MOST_LINES:]
    drawing = _drawing(panel, across, scale, telling)
    size = "plot tall" if panel.id in _TALL else "plot"
    return element(
        "figure",
        _caption(panel, scale),
        element("div", _labels(panel, scale), drawing, class_=size),
        class_="panel",
    )


def line_path(points: Iterable[tuple[float, float]]) -> str:
    """The `d` of a line through points of the drawing; points that are not finite interrupt it."""
    parts = []
    for drawable, run in groupby(points, key=lambda point: math.isfinite(point[1])):
        if drawable:
            pairs = [f"{_short(x)} {_short(y)}" for x, y in run]
            parts.append("M" + "L".join(pairs) + ("h0" if len(pairs) == 1 else ""))
    return "".join(parts)


def _caption(panel: Panel, scale: Scale) -> Element:
    names: list[Child] = [
        element("span", element("i", class_=f"key {_kind(each, place)}"), each.name, class_="name")
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


def _kind(series: Series, place: int) -> str:
    return "forecast s0" if series.is_forecast else f"s{place}"


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
    return [_path(line, f"line {_kind(series, place)}")]


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
