"""Drills as the reports see them."""

from __future__ import annotations

from pitstop.comparison import compare_runs
from pitstop.comparison.record import Resume, RunRecord
from pitstop.drill import Drill, Trial
from pitstop.drill.outcome import Interruption
from tests.comparison.runs import records, run

WHOLE = run("drill/uninterrupted", records(12))
EXACT = run("drill/kill-at-6", records(6), records(12, 5), resumes=(Resume(4, 2, "exact", ""),))
AFTER_RESUME = run(
    "drill/kill-at-6",
    records(6),
    records(12, 7, {7: 0.25}),
    resumes=(Resume(6, 0, "exact", ""),),
)
TWICE = run("drill/kill-at-6", records(6), records(12, 5, {5: 0.25}))
UNSEEDED = run("drill/uninterrupted-again", records(12, 1, {1: 0.25}))


def trial(actual: RunRecord | None, failure: str = "") -> Trial:
    found = None if actual is None else compare_runs(WHOLE, actual)
    at = Interruption("kill", 6, "middle")
    return Trial(at, "drill/kill-at-6", 4, 2, "exact", 8.5, found, failure)


def drill(*trials: Trial, again: RunRecord | None = None) -> Drill:
    repetition = None if again is None else compare_runs(WHOLE, again)
    return Drill("drill/uninterrupted", 12, 4.25, trials, repetition)
