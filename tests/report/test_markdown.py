"""The Markdown report."""

from __future__ import annotations

from pitstop.report import markdown
from tests.report.samples import REPORT, RUNNING


def test_the_sections_in_order() -> None:
    text = markdown.render(REPORT)
    titles = [line for line in text.splitlines() if line.startswith("#")]
    assert titles == [
        "# Why runs/train ended",
        "## Evidence",
        "## Could not be observed",
        "## What to do",
        "## Also found",
        "## Earlier attempts",
    ]


def test_text_of_the_run_is_escaped_or_quoted() -> None:
    lines = markdown.render(REPORT).splitlines()
    assert "      second line" in lines
    summary = next(line for line in lines if line.startswith("**disk"))
    assert r"\<b\>\*no\* \_html\_" in summary


def test_a_running_run() -> None:
    assert "Attempt 3 is running." in markdown.render(RUNNING)
