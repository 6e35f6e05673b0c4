"""The report as strict JSON, for programs."""

from __future__ import annotations

import json

from pitstop.events import JsonValue
from pitstop.plain_text import plain_tree, strict
from pitstop.report.progress import compare
from pitstop.report.why import WhyReport


def to_json(report: WhyReport) -> dict[str, JsonValue]:
    """One object about the last attempt; the earlier ones under `attempts`.

    `progress` tells of each attempt how far it came, and `compared` what follows from that.
    """
    return {
        "run": report.name,
        **report.last.to_json(),
        "attempts": [attempt.to_json() for attempt in report.earlier],
        "progress": [each.to_json() for each in report.attempts],
        "compared": list(compare(report.attempts)),
        "damaged_lines": report.damaged_lines,
    }


def render(report: WhyReport) -> str:
    """The object as text that every JSON parser reads, newline included."""
    return json.dumps(strict(plain_tree(to_json(report))), indent=2, allow_nan=False) + "\n"
