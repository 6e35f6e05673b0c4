"""The report as a person reads it in a terminal of 80 columns, and the blocks that rich draws."""

from collections.abc import Iterable
from pathlib import Path

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from pitstop.diagnosis import ChainLink, Finding
from pitstop.durations import duration
from pitstop.plain_text import plain, plain_record
from pitstop.record import Frozen
from pitstop.report.why import WhyReport, compare

INDENT = (0, 0, 0, 2)


class PlainText(Frozen):
    """A renderable whose texts are plain; colours are rich's own."""

    inner: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        plainly = (
            each if each.control else Segment(plain(each.text), each.style)
            for each in console.render(self.inner, options)
        )
        for line in Segment.split_lines(plainly):
            yield from _without_blanks(line)
            yield Segment.line()


def title(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def grid(first: str = "", gap: int = 1) -> Table:
    table = Table.grid(padding=(0, gap, 0, 0))
    table.add_column(style=first, no_wrap=True)
    table.add_column(overflow="fold")
    return table


def titled(
    name: str, rows: Iterable[tuple[str, Text]], style: str = "", gap: int = 1
) -> list[RenderableType]:
    table = grid(style, gap)
    for first, text in rows:
        table.add_row(Text(first), text)
    return [title(name), Padding(table, INDENT)] if table.rows else []


def listed(name: str, lines: Iterable[str]) -> list[RenderableType]:
    return titled(name, [("-", Text(line)) for line in lines])


def _without_blanks(line: list[Segment]) -> list[Segment]:
    kept = list(line)
    while kept and not kept[-1].control and not kept[-1].text.strip():
        kept.pop()
    if kept and not kept[-1].control:
        kept[-1] = Segment(kept[-1].text.rstrip(), kept[-1].style)
    return kept


_STATE_STYLES = {
    "completed": "bold green",
    "doubtful": "bold yellow",
    "stopped": "bold yellow",
    "running": "bold cyan",
    "failed": "bold red",
    "unknown": "bold",
}
_REMEDY = "→"
_EARLIER = 5
_MARGIN = 20  # what stands before a word in its line, at most


def show(report: WhyReport, console: Console, page: Path | None = None) -> None:
    # A path that is broken in its middle can be copied neither from a pipe nor from a terminal.
    if not console.is_terminal:
        console.width = max(console.width, _longest_word(report) + _MARGIN)
    console.print(PlainText(compose(report)), overflow="ignore", crop=False)
    finding = report.last.finding
    if finding is not None:
        console.print(Text(f"\nThis cause: pitstop explain {finding.cause}", "dim"), soft_wrap=True)
    if page is not None:
        console.print(PlainText(Text(f"With plots: {page}", "dim")), soft_wrap=True)


def _longest_word(report: WhyReport) -> int:
    finding = report.last.finding
    if finding is None:
        return 0
    texts = [finding.summary, *finding.advice, *finding.missing]
    texts += [item.text for item in finding.evidence] + [link.text for link in report.last.chain]
    return max((len(word) for text in texts for word in text.split()), default=0)


def compose(report: WhyReport) -> RenderableType:
    report = plain_record(report)
    parts = [_heading(report), *_body(report)]
    parts += _earlier(report)
    if report.damaged_lines:
        parts.append(Text(f"{report.damaged_lines} damaged journal lines were skipped.", "dim"))
    return Group(*parts)


def _heading(report: WhyReport) -> Text:
    last = report.last
    attempt = f", attempt {last.attempt}" if last.attempt else ""
    style = _STATE_STYLES.get(last.tone, "bold")
    after = f" after {duration(report.timeline.seconds)}" if report.timeline else ""
    return Text.assemble((f"{report.name}{attempt}: ", "bold"), (last.state, style), after)


def _body(report: WhyReport) -> list[RenderableType]:
    diagnosis, finding = report.last, report.last.finding
    if finding is None:
        return [Text("Nothing has ended yet.")]
    sure = f" ({finding.confidence:.0%} sure): "
    cause = Text.assemble((finding.cause, "bold"), sure, finding.summary)
    remedies = grid("bold")
    for advice in finding.advice:
        remedies.add_row(Text(_REMEDY), Text(advice))
    parts: list[RenderableType] = [cause, *([remedies] if remedies.rows else [])]
    parts += _chain(diagnosis.chain)
    seen = [(item.source, Text(item.text)) for item in finding.evidence]
    parts += titled("Evidence", seen, "dim", gap=2)
    parts += listed("Could not be observed", finding.missing)
    return parts + listed("Also found", [_short(other) for other in diagnosis.others])


def _chain(links: tuple[ChainLink, ...]) -> list[RenderableType]:
    signs = ["┌", *("├" for _ in links[2:]), "└"][-len(links) :]
    return titled(
        "What led to this",
        [
            (sign, Text.assemble(link.text, (f"  [{link.source}]", "dim")))
            for sign, link in zip(signs, links, strict=False)
        ],
    )


def _earlier(report: WhyReport) -> list[RenderableType]:
    if not report.earlier:
        return []
    lines = [
        f"attempt {each.attempt}: {_short(each.finding) if each.finding else each.state}"
        for each in report.earlier[-_EARLIER:]
    ]
    left_out = len(report.earlier) - len(lines)
    older = [f"and {left_out} before them"] if left_out else []
    rows = [Text(line, no_wrap=True, overflow="ellipsis") for line in (*lines, *older)]
    compared = [Text(line) for line in compare(report.attempts)]
    return [title("Earlier attempts"), Padding(Group(*rows, *compared), INDENT)]


def _short(finding: Finding) -> str:
    return f"{finding.cause}: {finding.summary}"
