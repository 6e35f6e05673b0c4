"""All attempts of a run side by side, as a section of a page.  Pure."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from pitstop.durations import duration
from pitstop.report.page.element import element, items
from pitstop.report.page.scale import Scale, axis
from pitstop.report.progress import AttemptProgress, compare
from pitstop.report.timeline import clock

_MOST_LISTED = 30


def attempts_section(attempts: Sequence[AttemptProgress]) -> Element | None:
    if len(attempts) < 2:
        return None
    across = axis(0.0, float(max(each.last_step for each in attempts)))
    rows = (_row(each, across) for each in attempts[-_MOST_LISTED:])
    left_out = len(attempts) - _MOST_LISTED
    return element(
        "section",
        element("h2", "All attempts"),
        items("ul", compare(attempts), class_="compared"),
        element("p", f"{left_out} older ones are not shown.") if left_out > 0 else None,
        element("table", element("tbody", *rows), class_="attempts"),
        class_="wide",
    )


def _row(each: AttemptProgress, across: Scale) -> Element:
    return element(
        "tr",
        element("th", str(each.attempt), scope="row", title=clock(each.started_seconds)),
        element("td", element("span", each.state, class_=f"pill {each.state}")),
        element("td", element("code", each.cause) if each.cause else None),
        element("td", duration(each.seconds), class_="after"),
        element("td", _bar(each, across), class_="steps"),
    )


def _bar(each: AttemptProgress, across: Scale) -> Element:
    start, end = across.place(each.first_step), across.place(each.last_step)
    style = f"left:{100 * start:.2f}%;width:{100 * (end - start):.2f}%"
    bar = element("div", element("i", class_=each.state, style=style), class_="bar")
    return element("div", bar, element("span", _in_words(each)))


def _in_words(each: AttemptProgress) -> str:
    saved = "nothing saved" if each.checkpoint_step is None else f"saved {each.checkpoint_step:,}"
    return f"step {each.first_step:,} to {each.last_step:,}, {saved}"
