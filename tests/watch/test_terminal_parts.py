"""Lines of dots."""

from __future__ import annotations

import math

from pitstop.report.page.plot import Scale
from pitstop.report.timeline import Panel, Series, Timeline, Unit
from pitstop.watch.terminal_view import BrailleCanvas, plot

_UNIT = Scale(0.0, 1.0)


def drawn(points: list[tuple[float, float]], width: int = 2, height: int = 1) -> list[str]:
    canvas = BrailleCanvas(width, height)
    canvas.draw(points, _UNIT, _UNIT, 0)
    return ["".join(character for character, _ in row) for row in canvas.rows()]


def test_a_line_goes_from_corner_to_corner() -> None:
    assert drawn([(0.0, 0.0), (1.0, 1.0)]) == ["⡠⠊"]
    assert drawn([(0.0, 0.0), (1.0, 0.0)]) == ["⣀⣀"]
    assert drawn([(0.0, 1.0), (1.0, 1.0)], height=2) == ["⠉⠉", "⠀⠀"]


def test_what_is_not_finite_interrupts_it() -> None:
    assert drawn([(0.0, 0.0), (0.5, math.nan), (1.0, 0.0)]) == ["⡀⢀"]
    assert drawn([(0.5, math.inf)]) == ["⠀⠀"]


def test_a_plot_is_as_wide_as_it_may_be() -> None:
    points = tuple((float(i), 1.0 / (1 + i)) for i in range(50))
    panel = Panel("loss", "Loss", Unit.PLAIN, (Series("loss\x1b[31m", points),))
    lines = plot(panel, Timeline(0.0, 49.0, (panel,)), 80, 4)
    assert len(lines) == 5
    assert {len(each) for each in lines[1:]} == {80}
    assert "\x1b" not in lines[0].plain
