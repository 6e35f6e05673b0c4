"""What rich draws: blocks of a report, without what a terminal would obey of their texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from pitstop.plain_text import plain

INDENT = (0, 0, 0, 2)


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


def title(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def grid(first: str = "", gap: int = 1) -> Table:
    """Two columns: a sign or a name, and a text that is folded."""
    table = Table.grid(padding=(0, gap, 0, 0))
    table.add_column(style=first, no_wrap=True)
    table.add_column(overflow="fold")
    return table


def titled(
    name: str, rows: Iterable[tuple[str, Text]], style: str = "", gap: int = 1
) -> list[RenderableType]:
    """A title and the rows below it; nothing where there are none."""
    table = grid(style, gap)
    for first, text in rows:
        table.add_row(Text(first), text)
    return [title(name), Padding(table, INDENT)] if table.rows else []


def listed(name: str, lines: Iterable[str]) -> list[RenderableType]:
    return titled(name, [("-", Text(line)) for line in lines])


def _plainly(each: Segment) -> Segment:
    return each if each.control else Segment(plain(each.text), each.style)


def _without_blanks(line: list[Segment]) -> list[Segment]:
    kept = list(line)
    while kept and not kept[-1].control and not kept[-1].text.strip():
        kept.pop()
    if kept and not kept[-1].control:
        kept[-1] = Segment(kept[-1].text.rstrip(), kept[-1].style)
    return kept
