"""What rich draws, without what a terminal would obey of the texts in it."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment

from pitstop.plain_text import plain


@dataclass(frozen=True)
class PlainText:
    """A renderable whose texts are plain; colours are rich's own."""

    inner: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The segments of what is inside, no line with blanks at its end."""
        plainly = (_plainly(each) for each in console.render(self.inner, options))
        for line in Segment.split_lines(plainly):
            yield from _without_blanks(line)
            yield Segment.line()


def _plainly(each: Segment) -> Segment:
    return each if each.control else Segment(plain(each.text), each.style)


def _without_blanks(line: list[Segment]) -> list[Segment]:
    kept = list(line)
    while kept and not kept[-1].control and not kept[-1].text.strip():
        kept.pop()
    if kept and not kept[-1].control:
        kept[-1] = Segment(kept[-1].text.rstrip(), kept[-1].style)
    return kept
