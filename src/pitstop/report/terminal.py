"""The report as a person reads it in a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pitstop.diagnosis import Diagnosis, EvidenceItem, Finding
from pitstop.report.why import WhyReport

_STATE_STYLES = {
    "completed": "bold green",
    "stopped": "bold yellow",
    "running": "bold cyan",
    "failed": "bold red",
    "unknown": "bold",
}
_INDENT = (0, 0, 0, 2)


def show(report: WhyReport, console: Console) -> None:
    """Writes the report; text of the run is never read as markup."""
    console.print(compose(report))


def compose(report: WhyReport) -> RenderableType:
    """The report as something that rich can draw at any width."""
    parts = [_heading(report), *_body(report.last)]
    parts += _earlier(report.earlier)
    if report.damaged_lines:
        parts.append(Text(f"{report.damaged_lines} damaged journal lines were skipped.", "dim"))
    return Group(*parts)


def _heading(report: WhyReport) -> Text:
    attempt = f", attempt {report.last.attempt}" if report.last.attempt else ""
    style = _STATE_STYLES.get(report.last.state, "bold")
    return Text.assemble((f"{report.name}{attempt}: ", "bold"), (report.last.state, style))


def _body(diagnosis: Diagnosis) -> list[RenderableType]:
    finding = diagnosis.finding
    if finding is None:
        return [Text("The run is going on; nothing ended yet.")]
    cause = Text.assemble((finding.cause, "bold"), f"  ({finding.confidence:.0%} sure)")
    parts: list[RenderableType] = [cause, Text(finding.summary)]
    parts += _evidence(finding.evidence)
    parts += _section("Could not be observed", finding.missing)
    parts += _section("What to do", finding.advice)
    return parts + _section("Also found", [_short(other) for other in diagnosis.others])


def _evidence(items: tuple[EvidenceItem, ...]) -> list[RenderableType]:
    if not items:
        return []
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for item in items:
        table.add_row(Text(item.source), Text(item.text))
    return [_title("Evidence"), Padding(table, _INDENT)]


def _section(title: str, lines: Iterable[str]) -> list[RenderableType]:
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for line in lines:
        table.add_row(Text("-"), Text(line))
    return [_title(title), Padding(table, _INDENT)] if table.rows else []


def _earlier(attempts: tuple[Diagnosis, ...]) -> list[RenderableType]:
    lines = [Text(_one_line(each), no_wrap=True, overflow="ellipsis") for each in attempts]
    return [_title("Earlier attempts"), Padding(Group(*lines), _INDENT)] if lines else []


def _title(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def _one_line(diagnosis: Diagnosis) -> str:
    finding = diagnosis.finding
    return f"attempt {diagnosis.attempt}: {_short(finding) if finding else diagnosis.state}"


def _short(finding: Finding) -> str:
    return f"{finding.cause}: {finding.summary}"
