"""Lines of dots in a terminal: two columns and four rows of dots to a character.  Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pitstop.report.page.scale import Scale
from pitstop.report.timeline import Point

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
