"""Likely reasons, each next to a difference that only looks like it."""

from __future__ import annotations

import math

import pytest

from pitstop.comparison import compare_runs
from pitstop.comparison.compare import REASONS
from pitstop.comparison.difference import Comparison, TensorDifference
from pitstop.comparison.record import Resume, RunRecord, Saved
from pitstop.events import EnvironmentChanged
from tests.comparison.runs import records, run, saved

A = run("a", records(12), checkpoints=[saved(4), saved(12)])
CPUS = EnvironmentChanged("the number of CPUs it may use", "2", "4", True)
PATH = EnvironmentChanged("the script's path", "/a", "/b", False)
NEAR = 0.5 + 2**-24


CASES = [
    ("same", run("b", records(12)), []),
    ("other seeds", run("b", records(12, losses={1: 0.25})), ["seeds_not_set"]),
    ("rounding from the start", run("b", records(12, losses={1: NEAR})), ["order_of_sums"]),
    ("rounding later", run("b", records(12, losses={8: NEAR})), ["order_of_sums"]),
    ("an infinite loss", run("b", records(12, losses={1: math.inf})), ["seeds_not_set"]),
    ("first step of an epoch", run("b", records(12, losses={6: 0.25})), ["epoch_order"]),
    (
        "a batch differs",
        run("b", records(12, losses={8: 0.25}), checkpoints=[saved(4), saved(12, "x")]),
        ["input_order"],
    ),
    (
        "weights unknown before",
        run("b", records(12, losses={3: 0.25}), checkpoints=[saved(4, "x")]),
        [],
    ),
    (
        "weights agree after all",
        run("b", records(12, losses={8: 0.25}), checkpoints=[saved(12)]),
        ["metrics_only"],
    ),
    (
        "weights changed by a callback",
        run("b", records(12), checkpoints=[saved(4), saved(12, "x")]),
        ["changed_outside_of_steps"],
    ),
    (
        "first step after a resume",
        run("b", records(12, losses={8: 0.25}), resumes=(Resume(7, 2, "exact", ""),)),
        ["not_restored"],
    ),
    (
        "a step after a resume, not the first",
        run("b", records(12, losses={9: 0.25}), resumes=(Resume(7, 2, "exact", ""),)),
        ["not_restored_later"],
    ),
    (
        "before a resume",
        run("b", records(12, losses={3: 0.25}), resumes=(Resume(7, 2, "exact", ""),)),
        [],
    ),
    (
        "other CPUs after a resume",
        run("b", records(12, losses={8: 0.25}), environment_changes=(CPUS,)),
        ["environment"],
    ),
    (
        "another path after a resume",
        run("b", records(12, losses={8: 0.25}), environment_changes=(PATH,)),
        [],
    ),
    (
        "computed twice differently",
        run("b", records(8, losses={7: 0.25}), records(12, first_step=6)),
        ["not_reproducible_by_itself"],
    ),
    ("stopped early", run("b", records(10)), ["length"]),
]


def _measured(name: str, one: Saved, other: Saved) -> TensorDifference:
    del one, other
    return TensorDifference(name, "values", 1, 2, 0.5)


def _reasons(b: RunRecord) -> list[str]:
    return [reason.id for reason in compare_runs(A, b, _measured).reasons]


@pytest.mark.parametrize(
    ("b", "ids"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_reasons(b: RunRecord, ids: list[str]) -> None:
    assert _reasons(b) == ids


def test_random_state_alone() -> None:
    name = "Python's random stream"
    a, b = (run(text, records(4), checkpoints=[saved(4, facts={name: text})]) for text in "ab")
    [reason] = compare_runs(a, b).reasons
    assert reason.id == "random_or_input_state"
    assert name in reason.text


def test_a_resume_that_was_announced_as_not_exact_says_so() -> None:
    resume = Resume(7, 0, "not_exact", "hidden counters")
    [reason] = compare_runs(A, run("b", records(12, losses={8: 0.25}), resumes=(resume,))).reasons
    assert "reported as not exact (hidden counters)" in reason.text


def test_long_values_of_the_environment_are_left_out() -> None:
    a, b = (run(name, records(2), environment={"command": [name * 50]}) for name in "ab")
    one_differs = run("b", records(2, losses={2: 0.25}), environment=b.environment)
    [reason] = compare_runs(a, one_differs).reasons
    assert reason.text == "The environments differ: the command."


def test_a_difference_right_after_a_resume_with_several_steps_at_once() -> None:
    strided = [each for each in records(12) if each.step % 4 == 0]
    changed = [each for each in records(12, losses={8: 0.25}) if each.step % 4 == 0]
    b = run("b", changed, resumes=(Resume(4, 0, "exact", ""),))
    assert [each.id for each in compare_runs(run("a", strided), b).reasons][:1] == ["not_restored"]


def test_every_reason_has_a_case() -> None:
    ids = {reason for case in CASES for reason in case[2]} | {"random_or_input_state"}
    assert ids == REASONS.keys()


def test_reasons_come_with_advice() -> None:
    found: list[Comparison] = [compare_runs(A, case[1], _measured) for case in CASES]
    assert all(reason.advice for comparison in found for reason in comparison.reasons)
