"""The timeline of an attempt as a section: marks, panels, and the axis they share.  Pure."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from xml.etree.ElementTree import Element

from pitstop.diagnosis.event_words import MarkKind
from pitstop.durations import duration
from pitstop.events import JsonValue
from pitstop.report.page.element import element, plain, text_with_code
from pitstop.report.page.plot import Scale, axis, figure, time_ticks
from pitstop.report.timeline import Mark, Panel, Timeline, clock

_SIGNS = {
    MarkKind.CHECKPOINT: "◆",
    MarkKind.RESUME: "▶",
    MarkKind.STOP: "■",
    MarkKind.WARNING: "▲",
    MarkKind.FAULT: "✖",
    MarkKind.END: "●",
}
_TIME_TICKS = 8
_MOST_SIGNS = 60
_MOST_LISTED = 40


def timeline_section(timeline: Timeline) -> Element:
    """The section; the last thing in it is the data for the page's script."""
    started = timeline.started_seconds
    across = axis(started, started + timeline.drawn_seconds)
    plots = element(
        "div",
        _lane(timeline, across),
        *(figure(panel, across, timeline.marks) for panel in timeline.panels),
        _axis(timeline),
        class_="plots",
        tabindex="0",
        role="group",
        aria_label="Timeline; use the arrow keys to move through it",
    )
    span = f"{clock(timeline.started_seconds)} to {clock(timeline.ended_seconds)}"
    return element(
        "section",
        element("h2", "How it went"),
        element(
            "p",
            element("span", f"{span}, {duration(timeline.seconds)}"),
            element("output", class_="now when"),
            class_="span",
        ),
        plots,
        _event_table(timeline),
        element("script", script_text(_data(timeline)), type="application/json", id="timeline"),
        class_="wide",
    )


def script_text(value: JsonValue) -> str:
    """JSON that can stand in a script element: nothing in it can end the element."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _lane(timeline: Timeline, across: Scale) -> Element:
    signs = (
        element(
            "span",
            _SIGNS[mark.kind],
            class_=f"sign {mark.kind.value}",
            style=f"left:{100 * across.place(mark.seconds):.2f}%",
            title=mark.text,
        )
        for mark in _most_important(timeline.marks, _MOST_SIGNS)
    )
    return element("div", *signs, class_="signs", aria_hidden="true")


def _axis(timeline: Timeline) -> Element:
    ticks = time_ticks(timeline.drawn_seconds, _TIME_TICKS)
    labels = (
        element(
            "span",
            duration(tick) if tick else "start",
            class_="minor" if i % 2 else "",
            style=f"left:{100 * tick / (timeline.drawn_seconds or 1.0):.2f}%",
        )
        for i, tick in enumerate(ticks)
    )
    return element("div", *labels, class_="x", aria_hidden="true")


def _event_table(timeline: Timeline) -> Element | None:
    listed = list(fold(timeline.marks))[-_MOST_LISTED:]
    if not listed:
        return None
    rows = (_row(mark, timeline) for mark in listed)
    title = element("summary", f"Events ({len(listed)})")
    return element("details", title, element("table", element("tbody", *rows), class_="marks"))


def _row(mark: Mark, timeline: Timeline) -> Element:
    after = duration(max(0.0, mark.seconds - timeline.started_seconds))
    sign = element("span", _SIGNS[mark.kind], class_=f"sign {mark.kind.value}")
    return element(
        "tr",
        element("td", after, class_="after", title=clock(mark.seconds)),
        element("td", sign),
        element("td", *text_with_code(mark.text)),
    )


def fold(marks: Iterable[Mark]) -> Iterator[Mark]:
    for kind, group in groupby(marks, key=lambda mark: mark.kind):
        row = list(group)
        if kind is not MarkKind.CHECKPOINT or len(row) == 1:
            yield from row
        else:
            yield replace(row[-1], text=f"{row[-1].text}, the last of {len(row)}")


def _most_important(marks: Sequence[Mark], most: int) -> list[Mark]:
    others = [mark for mark in marks if mark.kind is not MarkKind.CHECKPOINT][-most:]
    saved = [mark for mark in marks if mark.kind is MarkKind.CHECKPOINT]
    left = most - len(others)
    kept = saved[-left:] if left else []
    return sorted([*kept, *others], key=lambda mark: mark.seconds)


def _data(timeline: Timeline) -> JsonValue:
    start = timeline.started_seconds
    return {
        "start": round(start, 3),
        "seconds": round(timeline.drawn_seconds, 3),
        "panels": [_panel_data(panel, start) for panel in timeline.panels],
        "marks": [
            [round(mark.seconds - start, 2), plain(mark.text)]
            for mark in _most_important(timeline.marks, _MOST_SIGNS)
        ],
    }


def _panel_data(panel: Panel, start: float) -> JsonValue:
    lines = ((each.name, each.finite()) for each in panel.series if not each.is_forecast)
    return {
        "unit": panel.unit.value,
        "series": [
            {"name": plain(name), "points": _flat((t - start, v) for t, v in points)}
            for name, points in lines
        ],
    }


def _flat(points: Iterable[tuple[float, float]]) -> list[float]:
    return [
        number for seconds, value in points for number in (round(seconds, 2), float(f"{value:.4g}"))
    ]
