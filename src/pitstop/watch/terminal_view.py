"""Runs watched in a terminal."""

import contextlib
import math
import os
import select
import sys
import termios
import threading
import time
import tty
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pitstop.diagnosis.load import read_tail
from pitstop.durations import duration
from pitstop.errors import PitstopError
from pitstop.plain_text import plain_line
from pitstop.report.page.plot import Scale, axis, scale_of
from pitstop.report.timeline import Panel, Point, Timeline, value_text
from pitstop.supervisor.status import Status
from pitstop.supervisor.status_rows import cells
from pitstop.watch import run_parts
from pitstop.watch.actions import ACTIONS
from pitstop.watch.followed_run import FollowedRun
from pitstop.watch.live_page import EVERY_SECONDS, wait_seconds
from pitstop.watch.run_list import RunList

_EMPTY = 0x2800
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""Bits of a character's dots, by column and row from the top (Unicode, Braille Patterns)."""


class BrailleCanvas:
    """A canvas of characters; each has the number of the line that was drawn through it last."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._bits = [[0] * width for _ in range(height)]
        self._lines = [[0] * width for _ in range(height)]

    def draw(self, points: Sequence[Point], across: Scale, scale: Scale, line: int) -> None:
        """A line through points; points that are not finite interrupt it."""
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
        at, texts = changed.get(name), cells(status)
        table.add_row(
            ">" if name == chosen else " ",
            _text(name, "bold"),
            _text(status.state, _style(status.state)),
            *(_text(texts[column]) for column in ("step", "time left", "loss")),
            _text(texts["best"].rpartition(" ")[2]),
            _text(duration(max(0.0, time.time() - at)) if at else "", "dim"),
        )
    return table


def run_lines(run: FollowedRun, width: int, height: int) -> list[Text]:
    status, timeline = run.status(), run.timeline()
    heading = _text(status.state, f"bold {_style(status.state)}")
    heading.append(f", attempt {run.attempt}, {plain_line(str(run.folder.path))}", "default")
    lines = [heading, *_facts(run, width)]
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


def _facts(run: FollowedRun, width: int) -> list[Text]:
    lines = [Text(no_wrap=True)]
    for name, value in run.rows():
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


_KEYS = {"s": "stop", "e": "stop_after_epoch", "c": "checkpoint"}
_ARROWS = {"\x1b[A": "k", "\x1b[B": "j", "\r": "\n", "\x1b": "q"}
_LIST_HELP = "↑↓ choose   enter show   q leave"
_RUN_HELP = "s stop   e stop after this epoch   c save now   q back"


class TerminalView:
    """A table of the runs below a folder, or one of them; keys change what is shown."""

    def __init__(self, root: Path) -> None:
        self._list = RunList(root)
        self._list.refresh()
        self._said = ""
        self._chosen = next(iter(self._list.statuses()), "")
        self._shows_run = list(self._list.runs) == ["."]
        self._is_one_run = self._shows_run

    def draw(self, console: Console) -> Group:
        self._list.refresh()
        width, height = console.size
        run = self._list.runs.get(self._chosen)
        if self._shows_run and run is not None:
            shown = [*run_lines(run, width, height - 2)]
            return Group(*shown, self._foot(_RUN_HELP if run.is_live else "q back"))
        statuses = self._list.statuses()
        if self._chosen not in statuses:
            self._chosen = next(iter(statuses), "")
        # The chosen run stays visible.
        names, most = list(statuses), max(1, height - 4)
        first = max(0, names.index(self._chosen) - most + 1) if self._chosen in names else 0
        seen = {name: statuses[name] for name in names[first : first + most]}
        changed = {name: each.changed_seconds for name, each in self._list.runs.items() if each}
        nothing = Text(f"There is no run under {self._list.root}/ yet.")
        table = run_table(seen, self._chosen, changed) if seen else nothing
        return Group(table, self._foot(_LIST_HELP))

    def press(self, key: str) -> bool:
        """Does what a key asks for; returns whether to go on."""
        names = list(self._list.statuses())
        if key == "q" and (self._is_one_run or not self._shows_run):
            return False
        if key in ("q", "\n"):
            self._shows_run = key == "\n"
            self._said = ""
        elif key in ("j", "k") and self._chosen in names and not self._shows_run:
            place = names.index(self._chosen) + (1 if key == "j" else -1)
            self._chosen = names[min(len(names) - 1, max(0, place))]
        elif key in _KEYS and self._shows_run:
            self._said = "…"
            # The answer may take as long as a step does.
            threading.Thread(target=self._ask, args=(key,), name="pitstop-ask", daemon=True).start()
        return True

    def _ask(self, key: str) -> None:
        run = self._list.runs.get(self._chosen)
        try:
            self._said = ACTIONS[_KEYS[key]](run.folder) if run else ""
        except PitstopError as error:
            self._said = f"{error.message} {error.remedy}".strip()

    def _foot(self, keys: str) -> Text:
        said = f"{plain_line(self._said)}   " if self._said else ""
        line = Text.assemble((said, "bold"), (keys, "dim"), no_wrap=True, overflow="ellipsis")
        return Text("\n") + line


def watch(root: Path) -> None:
    """Shows the runs until the user quits; once where there is no terminal."""
    console = Console(highlight=False)
    view = TerminalView(root)
    if not (console.is_terminal and sys.stdin.isatty()):
        with console.capture() as shown:
            console.print(view.draw(console))
        console.out(*map(str.rstrip, shown.get().splitlines()), sep="\n", highlight=False)
        return
    with (
        _keys() as fd,
        contextlib.suppress(KeyboardInterrupt),
        Live(view.draw(console), console=console, screen=True, auto_refresh=False) as live,
    ):
        wait = EVERY_SECONDS
        while _obey(view, fd, wait):
            before = time.thread_time()
            live.update(view.draw(console), refresh=True)
            wait = wait_seconds(time.thread_time() - before, 1.0)


def _obey(view: TerminalView, fd: int, seconds: float) -> bool:
    ready, _, _ = select.select([fd], [], [], seconds)
    if not ready:
        return True
    text = os.read(fd, 64).decode(errors="replace")
    return bool(text) and view.press(_ARROWS.get(text, text[0].replace("\r", "\n")))


@contextlib.contextmanager
def _keys() -> Iterator[int]:
    """The descriptor of the keyboard, which returns each key at once until the context ends."""
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    tty.setcbreak(fd)
    try:
        yield fd
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
