"""The report as Markdown, for issues and notes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pitstop.diagnosis import Diagnosis, EvidenceItem, Finding
from pitstop.report.why import WhyReport


def render(report: WhyReport) -> str:
    """The report as one Markdown document."""
    parts = [f"# Why {report.name} ended", *_attempt(report.last)]
    if report.earlier:
        parts += ["## Earlier attempts", _list(_one_line(each) for each in report.earlier)]
    if report.damaged_lines:
        parts.append(f"Damaged journal lines that were skipped: {report.damaged_lines}.")
    return "\n\n".join(parts) + "\n"


def _attempt(diagnosis: Diagnosis) -> list[str]:
    finding = diagnosis.finding
    if finding is None:
        return [f"Attempt {diagnosis.attempt} is {diagnosis.state}."]
    title = f"**{finding.cause}** ({finding.confidence:.0%} sure)"
    parts = [f"{title}: {_escape(finding.summary)}"]
    parts += _section("Evidence", [_item(item) for item in finding.evidence])
    parts += _section("Could not be observed", [_escape(each) for each in finding.missing])
    parts += _section("What to do", [_escape(each) for each in finding.advice])
    return parts + _section("Also found", [_short(other) for other in diagnosis.others])


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"## {title}", _list(lines)] if lines else []


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _item(item: EvidenceItem) -> str:
    # Evidence is quoted, never interpreted: an indented block holds any text.
    quoted = "\n".join(f"      {line}" for line in item.text.splitlines())
    return f"{item.source}:\n\n{quoted}\n"


def _one_line(diagnosis: Diagnosis) -> str:
    finding = diagnosis.finding
    return f"Attempt {diagnosis.attempt}: {_short(finding) if finding else diagnosis.state}"


def _short(finding: Finding) -> str:
    return f"**{finding.cause}**: {_escape(finding.summary)}"


def _escape(text: str) -> str:
    # Backquotes stay: our own texts mark commands with them.
    return re.sub(r"([\\*_<>\[\]#])", r"\\\1", text)
