"""Records docs/recording.svg anew: a training in a terminal, stopped, resumed and explained.

    pip install 'pyte>=0.8,<0.9'; python tools/recording.py

The program behind the picture is real; pauses of more than a second are shortened.
"""

from __future__ import annotations

import fcntl
import html
import itertools
import os
import pty
import select
import shutil
import signal
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path

import pyte

ROOT = Path(__file__).parents[1]
COLUMNS, ROWS = 100, 22
_CELL_WIDTH, _CELL_HEIGHT = 8.4, 18
_SAMPLE_SECONDS = 0.15
_LONGEST_PAUSE_SECONDS = 1.0
_END_SECONDS = 6.0
_PATIENCE_SECONDS = 300.0
_SPACE = "\N{NO-BREAK SPACE}"  # of others, SVG shows one where there are several
_RUN = "pitstop run -- python digits_cnn.py"
_COLORS = {
    "default": "#d8dee9", "black": "#4c566a", "red": "#ff7b72", "green": "#7ee787",
    "brown": "#e3b341", "blue": "#79c0ff", "magenta": "#d2a8ff", "cyan": "#76e3ea",
    "white": "#ffffff",
}  # fmt: skip


class Recorder:
    """A shell in a terminal; `frames`: what it showed, with the time."""

    def __init__(self, folder: Path) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self.screen)
        self.frames: list[tuple[float, list[str]]] = [(0.0, self._rows())]
        self._seconds = 0.0
        self.pid, self._fd = pty.fork()
        if not self.pid:
            os.chdir(folder)
            paths = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
            environment = {"PATH": paths, "HOME": str(folder), "TERM": "xterm-256color"}
            environment |= {"PS1": "$ ", "LANG": "C.UTF-8"}
            # Without its messages about what it could do faster.
            environment |= {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"}
            os.execvpe("bash", ["bash", "--norc", "--noprofile"], environment)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.until_prompt()

    def type(self, text: str) -> None:
        for character in text:
            os.write(self._fd, character.encode())
            self._watch(0.04)

    def until(self, text: str, more_seconds: float = 0.0) -> None:
        """Waits until the screen shows a text, and some seconds more."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while not any(text in row for row in self.screen.display):
            if time.monotonic() > end:
                raise TimeoutError("\n".join(self.screen.display))
            self._watch(_SAMPLE_SECONDS)
        for _ in range(round(more_seconds / _SAMPLE_SECONDS)):
            self._watch(_SAMPLE_SECONDS)

    def until_prompt(self) -> None:
        end = time.monotonic() + _PATIENCE_SECONDS
        while self.screen.display[self.screen.cursor.y].rstrip() != "$":
            if time.monotonic() > end:
                raise TimeoutError("\n".join(self.screen.display))
            self._watch(_SAMPLE_SECONDS)

    def _watch(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self._fd], [], [], left)[0]:
                self._stream.feed(os.read(self._fd, 65536))
        self._seconds += seconds
        rows = self._rows()
        if rows != self.frames[-1][1]:
            before = self.frames[-1][0]
            self._seconds = min(self._seconds, before + _LONGEST_PAUSE_SECONDS)
            self.frames.append((self._seconds, rows))

    def _rows(self) -> list[str]:
        return [self._row(number) for number in range(ROWS)]

    def _row(self, number: int) -> str:
        """A row as parts of SVG text, each where its first cell is."""
        cells = [self.screen.buffer[number][column] for column in range(COLUMNS)]
        parts, column = [], 0
        for (color, bold), group in itertools.groupby(cells, lambda each: (each.fg, each.bold)):
            text = "".join(each.data for each in group)
            width = len(text)
            if shown := text.rstrip():
                indent = len(shown) - len(shown.lstrip())
                shown = shown.lstrip()
                escaped = html.escape(shown).replace(" ", _SPACE)
                fill = _COLORS.get(color.removeprefix("bright"), _COLORS["default"])
                weight = ' font-weight="bold"' if bold else ""
                parts.append(
                    f'<tspan x="{(column + indent) * _CELL_WIDTH:.1f}" fill="{fill}"{weight} '
                    f'textLength="{len(shown) * _CELL_WIDTH:.1f}">{escaped}</tspan>'
                )
            column += width
        return "".join(parts)


def svg(frames: list[tuple[float, list[str]]]) -> str:
    """The frames as one picture that moves and begins again."""
    end = frames[-1][0] + _END_SECONDS
    texts = []
    for number in range(ROWS):
        changes = [(at, rows[number]) for at, rows in frames]
        spans = [next(group) for _, group in itertools.groupby(changes, lambda each: each[1])]
        for (begin, row), (until, _) in itertools.pairwise([*spans, (end, "")]):
            if row:
                texts.append(
                    f'<text y="{(number + 1) * _CELL_HEIGHT}" visibility="hidden">{row}'
                    f'<set attributeName="visibility" to="visible" begin="all.begin+{begin:.2f}s" '
                    f'dur="{until - begin:.2f}s"/></text>'
                )
    width, height = COLUMNS * _CELL_WIDTH + 24, ROWS * _CELL_HEIGHT + 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">\n'
        "<title>A training in a terminal: stopped, resumed and explained</title>\n"
        f'<rect width="100%" height="100%" rx="10" fill="#161b22"><animate id="all" '
        f'attributeName="opacity" from="1" to="1" begin="0s;all.end" dur="{end:.2f}s"/></rect>\n'
        '<g transform="translate(12 8)">\n' + "\n".join(texts) + "\n</g></svg>\n"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(ROOT / "examples" / "digits_cnn.py", folder)
        recorder = Recorder(folder)
        try:
            recorder.type(f"{_RUN}\n")
            recorder.until("Epoch 3/", 1.5)
            recorder.type("\x03")
            recorder.until_prompt()
            recorder.type("echo $?\n")
            recorder.until_prompt()
            recorder.type(f"{_RUN}   # the same command again\n")
            recorder.until("resuming at step")
            recorder.until("Epoch 5/", 1.5)
            recorder.type("\x03")
            recorder.until_prompt()
            recorder.type("clear; pitstop why runs/digits_cnn\n")
            recorder.until("pitstop explain")
            recorder.until_prompt()
        finally:
            os.kill(recorder.pid, signal.SIGHUP)
            os.waitpid(recorder.pid, 0)
        (ROOT / "docs" / "recording.svg").write_text(svg(recorder.frames), encoding="utf-8")


if __name__ == "__main__":
    main()
