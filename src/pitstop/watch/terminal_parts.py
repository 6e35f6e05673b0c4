"""What the terminal shows of runs: as much as fits."""

import math
import time
from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text

from pitstop.diagnosis.load import read_tail
from pitstop.durations import duration
from pitstop.plain_text import plain_line
from pitstop.report.page.plot import Scale, axis, scale_of
from pitstop.report.timeline import Panel, Point, Timeline, value_text
from pitstop.supervisor.status import Status
from pitstop.watch import run_parts
from pitstop.watch.followed_run import FollowedRun

_EMPTY = 0x2800
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""Bits of a character's dots, by column and row from the top (Unicode, Braille Patterns)."""


class BrailleCanvas:
    """So many characters; each has the number of the line that was drawn through it last."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._bits = [[0] * width for _ in range(height)]
        self._lines = [[0] * width for _ in range(height)]

    def draw(self, points: Sequence[Point], across: Scale, scale: Scale, line: int) -> None:
        """A line through points; others than finite ones interrupt it."""
        before: tuple[int, int] | None = None
        for at, value in points:
            if not math.isfinite(value):
                before = None
                continue
            x = round(across.place(at) * (2 * self.width - 1))
            y = round((1.0 - scale.place(value)) * (4 * self.height - 1))
            self._connect(before or (x, y), (x, y), line)
            before = (x, y)

    def rows(self) -> list[list[tuple[str, int]]]:
        """The characters of each row, from the top, with the lines that they belong to."""
        return [
            [(chr(_EMPTY + bits), line) for bits, line in zip(row, lines, strict=True)]
            for row, lines in zip(self._bits, self._lines, strict=True)
        ]

    def _connect(self, start: tuple[int, int], end: tuple[int, int], line: int) -> None:
        count = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
        for i in range(count + 1):
            x = start[0] + round((end[0] - start[0]) * i / count)
            y = start[1] + round((end[1] - start[1]) * i / count)
            self._bits[y // 4][x // 2] |= _DOTS[x % 2][y % 4]
            self._lines[y // 4][x // 2] = line


_STATES = {
    "completed": "green",
    "stopped": "yellow",
    "running": "cyan",
    "failed": "red",
}
_LINES = ("blue", "yellow", "green", "magenta")
_GUTTER = 9
_PLOT_ROWS, _TALL_ROWS = 3, 6
_LOG_ROWS = 4


def run_table(statuses: Mapping[str, Status], chosen: str, changed: Mapping[str, float]) -> Table:
    table = Table(box=None, pad_edge=False, expand=True, header_style="dim")
    for name in ("", "run", "state", "step", "left", "loss", "best", "active"):
        table.add_column(
            name, no_wrap=True, overflow="ellipsis", ratio=3 if name == "run" else None
        )
    for name, status in statuses.items():
        eta = status.eta_seconds
        at = changed.get(name)
        best = "" if status.best_value is None else f"{status.best_value:.4g}"
        cells = [
            _text(name, "bold"),
            _text(status.state, _style(status.state)),
            _text(run_parts.step_text(status)),
            _text("" if eta is None else duration(eta)),
            _text(run_parts.number(status.loss)),
            _text(best),
            _text(duration(max(0.0, time.time() - at)) if at else "", "dim"),
        ]
        table.add_row(">" if name == chosen else " ", *cells)
    return table


def run_lines(run: FollowedRun, width: int, height: int) -> list[Text]:
    status, timeline = run.status(), run.timeline()
    lines = [_heading(run, status), *_facts(status, run.forecasts(), width)]
    if not run.is_live and run.attempt:
        lines.append(_text(f"why: {run.cause()} (`pitstop why {run.folder.path}`)"))
    log = _log(run)
    rows_left = height - len(lines) - len(log)
    lines += _plots(timeline, width, rows_left) if timeline else []
    return [*lines, *log][:height]


def plot(panel: Panel, timeline: Timeline, width: int, rows: int) -> list[Text]:
    scale = scale_of(panel)
    start = timeline.started_seconds
    canvas = BrailleCanvas(max(1, width - _GUTTER), rows)
    across = axis(start, start + timeline.drawn_seconds)
    for i, each in reversed(list(enumerate(panel.series))):
        canvas.draw(each.points, across, scale, i % len(_LINES))
    kind = " (logarithmic)" if scale.is_log else ""
    title = Text(" " * _GUTTER + panel.title + kind, "bold", no_wrap=True)
    for i, each in enumerate(panel.series):
        finite = each.finite()
        last = f" {value_text(finite[-1][1], panel.unit)}" if finite else ""
        title.append(f"  {plain_line(each.name)}{last}", _LINES[i % len(_LINES)])
    labels = {0: value_text(scale.high, panel.unit), rows - 1: value_text(scale.low, panel.unit)}
    lines = [title]
    for i, row in enumerate(canvas.rows()):
        line = Text(f"{labels.get(i, '')[: _GUTTER - 1]:>{_GUTTER - 1}} ", "dim", no_wrap=True)
        for character, place in row:
            line.append(character, _LINES[place])
        lines.append(line)
    return lines


def _plots(timeline: Timeline, width: int, rows: int) -> list[Text]:
    lines: list[Text] = []
    for panel in timeline.panels:
        height = _TALL_ROWS if not lines else _PLOT_ROWS
        if len(lines) + height + 1 <= rows:
            lines += plot(panel, timeline, width, height)
    return lines


def _heading(run: FollowedRun, status: Status) -> Text:
    heading = _text(status.state, f"bold {_style(status.state)}")
    return heading.append(f", attempt {run.attempt}, {plain_line(str(run.folder.path))}", "default")


def _facts(status: Status, forecasts: Sequence[str], width: int) -> list[Text]:
    lines = [Text(no_wrap=True)]
    for name, value in run_parts.rows_of(status, forecasts):
        fact = Text.assemble((f"{name} ", "dim"), plain_line(value), "   ")
        if len(lines[-1]) and len(lines[-1]) + len(fact) > width + 3:
            lines.append(Text(no_wrap=True))
        lines[-1].append_text(fact)
    return lines


def _log(run: FollowedRun) -> list[Text]:
    text = read_tail(run.folder.output_log(run.attempt))
    lines = [each for each in text.splitlines() if each.strip()][-_LOG_ROWS:]
    return [_text(each, "dim") for each in lines]


def _text(text: str, style: str = "") -> Text:
    return Text(plain_line(text), style, no_wrap=True, overflow="ellipsis")


def _style(state: str) -> str:
    return _STATES.get(run_parts.tone(state), "default")
