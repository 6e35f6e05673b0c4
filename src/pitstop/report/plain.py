"""What rich draws, without what a terminal would obey of the texts in it."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment

from pitstop.plain_text import plain


@dataclass(frozen=True)
class Plain:
    """A renderable whose texts are plain; colours are rich's own."""

    inner: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The segments of what is inside."""
        for each in console.render(self.inner, options):
            yield each if each.control else Segment(plain(each.text), each.style)
