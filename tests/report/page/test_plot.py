"""One panel as a figure."""

from __future__ import annotations

import math
from xml.etree.ElementTree import Element

from pitstop.report.page.plot import HEIGHT, WIDTH, figure, line_path
from pitstop.report.page.scale import axis
from pitstop.report.timeline import Mark, MarkKind, Panel, Series, Unit


def _figure(panel: Panel, *marks: Mark) -> Element:
    return figure(panel, axis(0.0, 10.0), marks)


def _paths(found: Element, name: str) -> list[str]:
    return [
        each.get("d", "") for each in found.iter("path") if name in each.get("class", "").split()
    ]


def _memory(limit: float | None) -> Panel:
    series = Series("processes", ((0.0, 0.0), (5.0, 2e9), (10.0, 4e9)))
    return Panel("memory", "Memory", Unit.BYTES, (series,), limit, "cgroup limit")


def test_a_line_goes_through_its_points_and_stops_where_a_value_is_none() -> None:
    assert line_path([(0, 1), (2.25, 3), (4, math.nan), (5, 6)]) == "M0 1L2.2 3M5 6h0"
    assert line_path([]) == ""


def test_the_drawing_fills_its_box() -> None:
    [line] = _paths(_figure(_memory(None)), "line")
    assert line.startswith(f"M0 {HEIGHT}L{WIDTH // 2} ")
    assert line.rpartition("L")[2].startswith(f"{WIDTH} ")


def test_an_amount_fills_what_is_under_it_unless_it_is_broken() -> None:
    assert len(_paths(_figure(_memory(None)), "area")) == 1
    broken = Series("rate", ((0.0, 1.0), (1.0, math.nan), (2.0, 2.0)))
    assert not _paths(_figure(Panel("speed", "Speed", Unit.PER_SECOND, (broken,))), "area")
    loss = Series("loss", ((0.0, 1.0), (1.0, 0.9)))
    assert not _paths(_figure(Panel("loss", "Loss", Unit.PLAIN, (loss,))), "area")


def test_a_limit_is_a_line_when_it_is_near_and_words_when_it_is_not() -> None:
    near, far = _figure(_memory(5e9)), _figure(_memory(5e12))
    assert len(_paths(near, "limit")) == 1
    assert "cgroup limit 5.0 GB" in "".join(near.itertext())
    assert not _paths(far, "limit")
    assert "cgroup limit 5.0 TB, far above" in "".join(far.itertext())


def test_the_end_is_drawn_through_and_a_checkpoint_is_not() -> None:
    found = _figure(
        _memory(None),
        Mark(2.0, MarkKind.CHECKPOINT, "saved"),
        Mark(10.0, MarkKind.END, "killed"),
    )
    assert _paths(found, "mark") == [f"M{WIDTH} 0V{HEIGHT}"]


def test_seldom_values_are_dots() -> None:
    panel = Panel("loss", "Loss", Unit.PLAIN, (Series("val_loss", ((5.0, 1.0),), is_dots=True),))
    [dots] = _paths(_figure(panel), "dots")
    assert dots == "M500 50h0"


def test_it_is_told_in_words_too() -> None:
    [drawing] = _figure(_memory(5e9)).iter("svg")
    assert drawing.get("aria-label") == "Memory between 0 bytes and 4.0 GB; cgroup limit 5.0 GB"
