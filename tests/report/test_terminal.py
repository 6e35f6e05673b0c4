"""The terminal report, as characters on a screen of 80 columns."""

from __future__ import annotations

import io

from rich.cells import cell_len
from rich.console import Console

from pitstop.report import WhyReport, terminal
from tests.report.samples import MARKUP, REPORT, RUNNING


def screen(report: WhyReport, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    with console.capture() as captured:
        terminal.show(report, console)
    return captured.get()


def test_fits_80_columns() -> None:
    assert max(map(cell_len, screen(REPORT).splitlines())) <= 80


def test_the_cause_comes_first_and_the_advice_is_there() -> None:
    lines = screen(REPORT).splitlines()
    assert lines[0] == "runs/train, attempt 2: failed"
    assert lines[1] == "disk_full  (95% sure)"
    titles = [line for line in lines if line and not line.startswith(" ")][3:]
    assert titles == [
        "Evidence",
        "Could not be observed",
        "What to do",
        "Also found",
        "Earlier attempts",
        "1 damaged journal lines were skipped.",
    ]


def test_long_words_are_folded_not_lost() -> None:
    assert screen(REPORT).count("x") >= 90


def test_text_of_the_run_is_no_markup() -> None:
    assert MARKUP in screen(REPORT, width=120)


def test_earlier_attempts_take_one_line_each() -> None:
    text = screen(REPORT)
    after = text[text.index("Earlier attempts") :].splitlines()
    assert after[1].startswith("  attempt 1: killed_from_outside: The trainer")
    assert after[2].startswith("1 damaged")


def test_a_running_run() -> None:
    assert screen(RUNNING).splitlines() == [
        "runs/train, attempt 3: running",
        "The run is going on; nothing ended yet.",
    ]
