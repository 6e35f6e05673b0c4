"""What is identical, honest, wrong or broken."""

from __future__ import annotations

import pytest

from tests.integration.programs.verdict import Ended, Level, Verdict, judge

TRUTH = Ended(0, "FINAL a 1\nFINAL b 2\n")
OTHER = Ended(0, "FINAL a 1\nFINAL b 3\n")
KILLED = Ended(137, "")
EXACT = Level("exact")
MODEST = Level("not_exact", "a counter in a closure")
REFUSED = Ended(2, "pitstop: the command differs\n")


@pytest.mark.parametrize(
    ("resumed", "level", "verdict"),
    [
        (TRUTH, EXACT, Verdict.IDENTICAL),
        (OTHER, EXACT, Verdict.WRONG),
        (OTHER, MODEST, Verdict.HONEST),
        (OTHER, Level("not_exact"), Verdict.WRONG),
        (REFUSED, EXACT, Verdict.HONEST),
        (Ended(2, "Traceback (most recent call last):\n"), EXACT, Verdict.BROKEN),
        (Ended(1, TRUTH.output), MODEST, Verdict.BROKEN),
    ],
)
def test_verdict_on_a_resumed_program(resumed: Ended, level: Level, verdict: Verdict) -> None:
    assert judge([TRUTH], [KILLED], resumed, level, reproducible=True) is verdict


def test_any_truth_will_do() -> None:
    assert judge([TRUTH, OTHER], [KILLED], OTHER, EXACT, reproducible=True) is Verdict.IDENTICAL


def test_what_was_never_interrupted_proves_nothing() -> None:
    assert judge([TRUTH], [TRUTH], TRUTH, EXACT, reproducible=True) is Verdict.MISSED


def test_what_differs_by_itself_is_open() -> None:
    assert judge([TRUTH], [KILLED], OTHER, EXACT, reproducible=False) is Verdict.OPEN
