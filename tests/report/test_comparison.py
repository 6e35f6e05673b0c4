"""A comparison as people and programs read it."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from pitstop.comparison import Comparison, compare_runs
from pitstop.comparison.difference import TensorDifference
from pitstop.comparison.record import Saved
from pitstop.plain_text import json_text
from pitstop.report import comparison
from tests.comparison.runs import records, run, saved

A = run("[a]", records(12), checkpoints=[saved(4), saved(12)])
LATER = run("b", records(12, 1, {7: 0.25}), checkpoints=[saved(4), saved(12, "x")])


def _measured(name: str, one: Saved, other: Saved) -> TensorDifference:
    del one, other
    return TensorDifference(name, "values", 1, 2, 0.5)


def _text(found: Comparison) -> str:
    out = io.StringIO()
    comparison.show(found, Console(file=out, width=200))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def test_runs_that_are_the_same() -> None:
    text = _text(compare_runs(A, replace(A, name="b")))
    assert text.startswith("A  [a]: 12 steps, trained to the end\nB  b: 12 steps")
    assert "The runs are identical, bit for bit" in text
    assert "2 variables at common checkpoints (step 4, 12)" in text
    assert "Likely reason" not in text


def test_the_first_difference_with_its_values() -> None:
    text = _text(compare_runs(A, LATER, _measured))
    assert "The runs differ: at step 7 (epoch 2) the loss differs." in text
    assert "loss 0.5 in A, 0.25 in B, 8388608 float32 ULP apart" in text
    assert "1 of the compared steps differ; step 6 agrees" in text
    assert "Checkpoint of step 12\n  - kernel: 1 of 2 values differ, by 0.5 at most" in text
    assert "All variables agree at step 4" in text


def test_steps_computed_twice() -> None:
    twice = run("b", records(8, 1, {7: 0.25}), records(12, 6))
    text = _text(compare_runs(A, twice))
    assert "The runs are identical" in text
    assert "b: 1 of 3 steps computed again; first: step 7 (loss 0.25, then 0.5)" in text


def test_one_loss_with_other_metrics_is_not_told_as_two() -> None:
    again = [each._replace(metrics=each.metrics + 1) for each in records(12, 6)]
    text = _text(compare_runs(A, run("b", records(8), again)))
    assert "first: step 6 (loss 0.5 both times, but with different bits or metrics)" in text


def test_what_no_rule_explains_says_so() -> None:
    assert "no known reason matches" in _text(compare_runs(A, run("b", records(12, 1, {8: 9}))))


@pytest.mark.parametrize(
    ("b", "text"),
    [
        (A, ""),
        (LATER, "at step 7 (epoch 2) the loss differs"),
        (
            run("b", records(12), checkpoints=[saved(12, "x")]),
            "at the checkpoint of step 12: 1 variables",
        ),
        (run("b", records(10)), "12 steps in A, 10 in B"),
    ],
)
def test_one_line(b: object, text: str) -> None:
    assert isinstance(b, type(A))
    assert comparison.first_difference(compare_runs(A, b, _measured)) == text


def test_json_is_strict_and_whole() -> None:
    found = compare_runs(A, run("b", records(12, 1, {3: float("nan")})))
    record = json.loads(json_text(comparison.to_json(found)))
    assert record["same"] is False
    assert record["step"]["loss_a"] == 0.5
    assert record["step"]["loss_b"] is None
    assert record["coverage"]["steps"] == 12
