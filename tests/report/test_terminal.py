"""The terminal report, as characters on a screen of 80 columns."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from pitstop.diagnosis import CAUSES, CauseId
from pitstop.report import WhyReport, terminal
from tests.report.samples import EARLIER, MARKUP, PATH, REPORT, RUNNING, diagnosis, whole


def screen(report: WhyReport, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    with console.capture() as captured:
        terminal.show(report, console)
    return captured.get()


@pytest.mark.parametrize("cause", CAUSES)
def test_fits_80_columns_or_what_the_longest_word_needs(cause: CauseId) -> None:
    lines = screen(whole(cause)).splitlines()
    longest_word = max(cell_len(word) for line in lines for word in line.split())
    assert max(map(cell_len, lines)) <= max(80, longest_word + 20)
    assert not [line for line in lines if line != line.rstrip()]


def test_the_cause_and_what_to_do_come_first() -> None:
    lines = screen(replace(REPORT, last=diagnosis("disk_full", ""))).splitlines()
    assert lines[:3] == [
        "runs/train, attempt 2: failed",
        "disk_full (95% sure): The disk is full at step 47:",
        "→ Free space (`df -h`).",
    ]
    titles = [line for line in lines[4:] if line and not line.startswith(" ")]
    assert titles == [
        "What led to this",
        "Evidence",
        "Could not be observed",
        "Also found",
        "Earlier attempts",
        "1 damaged journal lines were skipped.",
        "This cause: pitstop explain disk_full",
    ]


def test_how_long_it_took_stands_in_the_first_line() -> None:
    text = screen(replace(whole("host_oom_killed", ""), name="a"))
    assert text.startswith("a, attempt 2: failed after 1 min\n")


def test_a_chain_is_a_chain() -> None:
    text = screen(whole("disk_full", ""))
    after = text[text.index("What led to this") :].splitlines()
    assert after[1].rstrip() == "  ┌ memory grew by 20 MB a minute   [flight recorder]"
    assert after[2].rstrip() == "  └ the kernel killed it  [kernel log]"


def test_a_chain_of_one_link_is_its_end() -> None:
    report = whole("disk_full", "")
    assert report.last is not None
    last = replace(report.last, chain=report.last.chain[-1:])
    text = screen(replace(report, last=last))
    assert "\n  └ the kernel killed it  [kernel log]\n" in text


def test_the_page_with_more_is_named_last() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=False)
    with console.capture() as captured:
        terminal.show(REPORT, console, Path(PATH))
    assert captured.get().endswith(
        f"\n\nThis cause: pitstop explain disk_full\nWith plots: {PATH}\n"
    )


def test_long_words_are_not_broken() -> None:
    assert "x" * 90 in screen(REPORT)


def test_text_of_the_run_is_no_markup() -> None:
    assert MARKUP in screen(REPORT, width=120)


def test_many_earlier_attempts_are_cut_short() -> None:
    text = screen(replace(REPORT, earlier=(EARLIER,) * 9))
    assert text.count("attempt 1: ") == 5
    assert "and 4 before them" in text


def test_earlier_attempts_take_one_line_each() -> None:
    text = screen(REPORT)
    after = text[text.index("Earlier attempts") :].splitlines()
    assert after[1].startswith("  attempt 1: killed_from_outside: The trainer")
    assert after[2].startswith("1 damaged")


def test_a_running_run() -> None:
    assert screen(RUNNING).splitlines() == [
        "runs/train, attempt 3: running",
        "Nothing has ended yet.",
    ]
