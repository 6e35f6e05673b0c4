"""Runs watched in a terminal."""

import contextlib
import os
import select
import sys
import termios
import threading
import time
import tty
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from pitstop.errors import PitstopError
from pitstop.plain_text import plain_line
from pitstop.watch.actions import ACTIONS
from pitstop.watch.live_page import EVERY_SECONDS, wait_seconds
from pitstop.watch.run_list import RunList
from pitstop.watch.terminal_parts import run_lines, run_table

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
        """Obeys a key; whether to go on."""
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
        console.print(view.draw(console))
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
    """The keyboard, each key at once, as long as this lasts."""
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    tty.setcbreak(fd)
    try:
        yield fd
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
