"""The report as Markdown, for issues, notes and whatever shows text beside plots."""

import re

from pitstop.diagnosis import EvidenceItem, Finding
from pitstop.durations import duration
from pitstop.plain_text import plain_record
from pitstop.report.timeline import clock
from pitstop.report.why import WhyReport, compare


def render(report: WhyReport) -> str:
    report = plain_record(report)
    parts = [f"# Why {_escape(report.name)} ended", *_attempt(report)]
    parts += _earlier(report)
    parts += _output(report.output)
    if report.damaged_lines:
        parts.append(f"Damaged journal lines that were skipped: {report.damaged_lines}.")
    return "\n\n".join(parts) + "\n"


def _attempt(report: WhyReport) -> list[str]:
    diagnosis, finding = report.last, report.last.finding
    if finding is None:
        return [f"Attempt {diagnosis.attempt} is {diagnosis.state}."]
    title = f"**{finding.cause}** ({finding.confidence:.0%} sure)"
    parts = [f"{title}: {_escape(finding.summary)}"]
    if report.timeline:
        ended, lasted = clock(report.timeline.ended_seconds), duration(report.timeline.seconds)
        parts.append(f"Attempt {diagnosis.attempt}, {diagnosis.state}: {ended}, after {lasted}.")
    parts += _section("What to do", [_escape(each) for each in finding.advice])
    parts += _section("What led to this", [_escape(each.text) for each in diagnosis.chain], "1.")
    parts += _section("Evidence", [_item(item) for item in finding.evidence])
    parts += _section("Could not be observed", [_escape(each) for each in finding.missing])
    parts += _section("Also found", [_short(other) for other in diagnosis.others])
    return [*parts, f"This cause: `pitstop explain {finding.cause}`"]


def _earlier(report: WhyReport) -> list[str]:
    lines = [
        f"Attempt {each.attempt}: {_short(each.finding) if each.finding else each.state}"
        for each in report.earlier
    ]
    parts = _section("Earlier attempts", lines)
    compared = " ".join(_escape(each) for each in compare(report.attempts))
    return [*parts, compared] if parts and compared else parts


def _output(lines: tuple[str, ...]) -> list[str]:
    if not lines:
        return []
    # Longer than any row of backquotes in it, so that nothing in it ends the block.
    longest = max((len(row) for line in lines for row in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return ["## The last lines of the output", "\n".join([fence, *lines, fence])]


def _section(title: str, lines: list[str], sign: str = "-") -> list[str]:
    return [f"## {title}", "\n".join(f"{sign} {line}" for line in lines)] if lines else []


def _item(item: EvidenceItem) -> str:
    # Evidence is quoted, never interpreted: an indented block holds any text.
    quoted = "\n".join(f"      {line}" for line in item.text.splitlines())
    return f"{_escape(item.source)}:\n\n{quoted}\n"


def _short(finding: Finding) -> str:
    return f"**{finding.cause}**: {_escape(finding.summary)}"


def _escape(text: str) -> str:
    """The text as one line, with Markdown escaped except between backquotes."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    parts[::2] = [re.sub(r"([\\`*_<>\[\]#|])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)
