"""What is drawn, before it is drawn."""

from __future__ import annotations

import math

from pitstop.report.timeline import Panel, Series, Timeline, Unit, panels_with_values


def _panel(*series: Series) -> Panel:
    return Panel("loss", "Loss", Unit.PLAIN, series, 5.0, "limit")


_LINE = Series("loss", ((0.0, 1.0), (1.0, 2.0), (2.0, math.nan)))


def test_what_has_nothing_to_draw_is_left_out() -> None:
    one_point = Series("loss", ((0.0, 1.0), (1.0, math.inf)))
    no_dots = Series("val_loss", (), is_dots=True)
    assert panels_with_values([_panel(one_point, no_dots), _panel(_LINE, no_dots)]) == (
        _panel(_LINE),
    )


def test_one_dot_is_something() -> None:
    dot = Series("val_loss", ((0.0, 1.0),), is_dots=True)
    assert panels_with_values([_panel(dot)]) == (_panel(dot),)


def test_values_are_those_that_can_be_drawn() -> None:
    assert _panel(_LINE).values() == (1.0, 2.0)


def test_a_timeline_never_ends_before_it_began() -> None:
    assert Timeline(10.0, 5.0, (_panel(_LINE),)).seconds == 0.0
