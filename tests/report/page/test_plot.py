"""One panel as a figure."""

from __future__ import annotations

import math
from xml.etree.ElementTree import Element

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.diagnosis.event_words import MarkKind
from pitstop.report.page.plot import (
    HEIGHT,
    WIDTH,
    Scale,
    axis,
    figure,
    line_path,
    round_values,
    scale_of,
    shows_limit,
    time_ticks,
)
from pitstop.report.timeline import Mark, Panel, Series, Unit


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


def _panel(*values: float, unit: Unit = Unit.PLAIN, limit: float | None = None) -> Panel:
    points = tuple((float(i), value) for i, value in enumerate(values))
    return Panel("p", "P", unit, (Series("s", points),), limit, "limit")


_FINITE = st.floats(-1e300, 1e300, allow_subnormal=False)


@given(st.lists(_FINITE, min_size=1, max_size=9), st.sampled_from(Unit))
def test_every_value_lies_on_its_axis(values: list[float], unit: Unit) -> None:
    values = values if unit is Unit.PLAIN else [abs(value) for value in values]
    scale = scale_of(_panel(*values, unit=unit))
    assert scale.low <= min(values)
    assert max(values) <= scale.high
    places = [scale.place(value) for value in values]
    assert all(0.0 <= place <= 1.0 for place in places)
    assert scale.place(max(values)) >= scale.place(min(values))
    assert all(math.isfinite(tick) for tick in scale.ticks(3))


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 8))
def test_round_values_lie_within_and_are_about_as_many(
    low: float, width: float, count: int
) -> None:
    found = round_values(low, low + width, count)
    assert all(low - width * 1e-6 <= value <= low + width * (1 + 1e-6) for value in found)
    assert count // 3 <= len(found) <= count + 1


def test_ticks_that_people_would_choose() -> None:
    assert round_values(0.0, 4.2e9, 3) == (0.0, 2e9, 4e9)
    assert Scale(0.1, 2000.0, is_log=True).ticks(4) == (0.1, 10.0, 1000.0)


@pytest.mark.parametrize(
    ("seconds", "count", "ticks"),
    [
        (100.0, 5, (0, 30, 60, 90)),
        (3600.0 * 3, 6, (0, 1800, 3600, 5400, 7200, 9000, 10800)),
        (86400.0 * 9, 5, (0, 172800, 345600, 518400, 691200)),
        (2.0, 5, (0, 0.5, 1.0, 1.5, 2.0)),
        (0.0, 5, (0,)),
    ],
)
def test_ticks_of_time(seconds: float, count: int, ticks: tuple[float, ...]) -> None:
    assert time_ticks(seconds, count) == ticks


def test_losses_of_very_different_size_are_drawn_by_magnitude() -> None:
    assert scale_of(_panel(0.01, 900.0)).is_log
    assert not scale_of(_panel(0.5, 2.0)).is_log
    assert not scale_of(_panel(-1.0, 900.0)).is_log


def test_amounts_begin_at_nothing_and_end_at_a_limit_that_is_near() -> None:
    near = _panel(3e9, unit=Unit.BYTES, limit=4e9)
    assert scale_of(near).low == 0.0
    assert shows_limit(near, scale_of(near))
    far = _panel(3e9, unit=Unit.BYTES, limit=4e12)
    assert not shows_limit(far, scale_of(far))
    assert scale_of(far).place(3e9) > 0.9


def test_an_axis_has_a_width() -> None:
    assert axis(5.0, 5.0).place(5.0) == 0.0
    assert axis(5.0, 7.0).place(6.0) == 0.5
