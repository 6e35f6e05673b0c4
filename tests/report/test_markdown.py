"""The Markdown report."""

from __future__ import annotations

import re

import pytest

from pitstop.diagnosis import CAUSES, CauseId
from pitstop.report import markdown
from tests.report.samples import REPORT, RUNNING, whole


def _titles(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("#")]


def test_the_sections_in_order() -> None:
    assert _titles(markdown.render(whole("nan_loss", "text"))) == [
        "# Why runs/train text ended",
        "## What to do",
        "## What led to this",
        "## Evidence",
        "## Could not be observed",
        "## Also found",
        "## Earlier attempts",
        "## The last lines of the output",
    ]


@pytest.mark.parametrize("cause", CAUSES)
def test_the_cause_and_the_remedy_come_first(cause: CauseId) -> None:
    lines = [line for line in markdown.render(whole(cause)).splitlines() if line]
    assert lines[1].startswith(f"**{cause}** (95% sure): The disk is full")
    assert lines[3:5] == ["## What to do", "- Free space (`df -h`)."]


def test_text_of_the_run_is_escaped_or_quoted() -> None:
    lines = markdown.render(REPORT).splitlines()
    assert "      second line" in lines
    summary = next(line for line in lines if line.startswith("**disk"))
    assert r"\<b\>\*no\* \_html\_" in summary


def test_commands_stay_as_they_are() -> None:
    text = markdown.render(whole("disk_full", "see `rm_all *` and a lone ` or_not"))
    assert r"see `rm_all *` and a lone \` or\_not" in text


def test_no_output_ends_its_own_block() -> None:
    text = markdown.render(whole("disk_full", "``````"))
    fences = re.findall(r"^`{7}$", text, re.MULTILINE)
    assert len(fences) == 2


def test_a_running_run() -> None:
    assert "Attempt 3 is running." in markdown.render(RUNNING)
