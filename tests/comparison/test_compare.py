"""Where two runs differ first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.comparison import compare_runs
from pitstop.comparison.compare import MOST_MEASURED, first_step_difference
from pitstop.comparison.difference import TensorDifference, Ulps
from pitstop.comparison.record import Saved, merge
from pitstop.store.manifest import TensorEntry
from tests.comparison.runs import record, records, run, saved

A = run("a", records(12))


def _measured(name: str, one: Saved, other: Saved) -> TensorDifference:
    del one, other
    return TensorDifference(name, "values", 1, 2, 0.5)


def test_equal_runs_are_the_same() -> None:
    found = compare_runs(A, replace(A, name="b"))
    assert found.same
    assert found.reasons == ()
    assert found.coverage.steps == 12


@given(st.sets(st.integers(1, 12), min_size=1))
def test_the_first_different_step_is_found(changed: set[int]) -> None:
    losses = dict.fromkeys(changed, 0.25)
    found = first_step_difference(A.trace, merge([records(12, losses=losses)]))
    assert found is not None
    first = min(changed)
    assert (found.step, found.agreed_step, found.differing_steps) == (
        first,
        first - 1,
        len(changed),
    )
    assert (found.loss_a, found.loss_b, found.loss_differs) == (0.5, 0.25, True)
    assert found.ulps == Ulps(2**23, "float32")
    assert found.first_of_run == (first == 1)
    assert found.first_of_epoch == (first in (1, 6, 11))


def test_metrics_may_differ_without_the_loss() -> None:
    other = merge([[*records(4), record(5, metrics=2)]])
    found = first_step_difference(A.trace, other)
    assert found is not None
    assert (found.step, found.loss_differs) == (5, False)


def test_nan_is_the_same_as_nan() -> None:
    nan = merge([records(3, losses={3: float("nan")})])
    assert first_step_difference(nan, merge([records(3, losses={3: float("nan")})])) is None
    found = first_step_difference(A.trace, nan)
    assert found is not None
    assert found.ulps is None


@pytest.mark.parametrize(("completed", "same"), [(True, False), (False, True)])
def test_a_shorter_run_differs_only_when_it_was_trained_to_the_end(
    completed: bool, same: bool
) -> None:
    found = compare_runs(A, run("b", records(7), completed=completed))
    assert found.same is same
    assert (found.coverage.steps, found.coverage.only_a, found.coverage.only_b) == (7, 5, 0)


def test_the_first_differing_checkpoint_is_measured() -> None:
    one = replace(A, saved=run("", checkpoints=[saved(4), saved(8), saved(12)]).saved)
    other = run(
        "b", records(12), checkpoints=[saved(12, "other"), saved(8, "other"), saved(4), saved(2)]
    )
    found = compare_runs(one, other, _measured)
    assert not found.same
    assert found.checkpoint is not None
    assert found.checkpoint.place.step == 8
    assert found.checkpoint.tensors == (_measured("variables/0/kernel", saved(8), saved(8)),)
    assert found.agreeing_checkpoints == (4,)
    assert found.coverage.checkpoints == (4, 8, 12)
    assert found.coverage.tensors == 3


def test_only_the_first_differing_checkpoint_is_read() -> None:
    measured = []

    def measure(name: str, one: Saved, other: Saved) -> TensorDifference:
        measured.append(one.place.step)
        return _measured(name, one, other)

    one, other = (
        run(name, records(12), checkpoints=[saved(step, name) for step in (4, 8, 12)])
        for name in "ab"
    )
    assert compare_runs(one, other, measure).checkpoint is not None
    assert measured == [4]


def test_variables_of_discarded_models_are_no_difference() -> None:
    extra = saved(4)
    entry = TensorEntry("F32", (1,), 4, "x", ())
    extra = replace(extra, tensors={**extra.tensors, "variables/1/new": entry})
    found = compare_runs(
        run("a", records(4), checkpoints=[saved(4)]),
        run("b", records(4), checkpoints=[extra]),
    )
    assert found.same
    assert found.checkpoint is not None
    assert found.checkpoint.hints == ("variables/1/new (of a discarded model)",)


def test_trainings_without_a_common_variable_do_not_agree() -> None:
    entry = TensorEntry("F32", (1,), 4, "x", ())
    others = replace(saved(4), tensors={"variables/0/another": entry})
    found = compare_runs(
        run("a", records(4), checkpoints=[saved(4)]),
        run("b", records(4), checkpoints=[others]),
    )
    assert not found.same
    assert found.checkpoint is not None
    assert [each.what for each in found.checkpoint.tensors] == ["only in B", "only in A"]
    assert not found.agreeing_checkpoints


def test_variables_of_another_shape_or_of_one_side_are_not_measured() -> None:
    def refuse(name: str, one: Saved, other: Saved) -> TensorDifference:
        raise AssertionError(f"{name} of {one.path} and {other.path} was measured")

    extra = saved(4, shape=(3,))
    entry = TensorEntry("F32", (1,), 4, "x", ())
    extra = replace(extra, tensors={**extra.tensors, "variables/1/new": entry})
    one, other = (
        run("a", records(4), checkpoints=[saved(4)]),
        run("b", records(4), checkpoints=[extra]),
    )
    found = compare_runs(one, other, refuse).checkpoint
    assert found is not None
    assert [(each.name, each.what) for each in found.tensors] == [
        ("variables/0/kernel", "dtype or shape"),
        ("variables/1/new", "only in B"),
    ]
    reverse = compare_runs(other, one, refuse).checkpoint
    assert reverse is not None
    assert reverse.tensors[1].what == "only in A"


def test_only_the_first_variables_are_measured_and_all_are_named() -> None:
    count = MOST_MEASURED + 3

    def many(digest: str) -> Saved:
        entry = TensorEntry("F32", (2,), 8, digest, ())
        return replace(saved(4), tensors={f"variables/{i:03d}": entry for i in range(count)})

    one, other = (run(name, records(4), checkpoints=[many(name)]) for name in "ab")
    found = compare_runs(one, other, _measured).checkpoint
    assert found is not None
    assert len(found.tensors) == count
    assert [each.differing for each in found.tensors].count(None) == 3


def test_state_that_may_differ_between_equal_runs_is_a_hint() -> None:
    name, callback = "NumPy's random stream", "callback 1 (Timer): started"
    one, other = (
        run(
            text,
            records(4),
            checkpoints=[saved(4, read_ahead=True, facts={name: text, callback: text})],
        )
        for text in "ab"
    )
    found = compare_runs(one, other)
    assert found.same
    assert found.checkpoint is not None
    assert found.checkpoint.hints == (name, callback)


def test_a_random_stream_that_differs_makes_runs_different() -> None:
    name = "NumPy's random stream"
    one, other = (
        run(text, records(4), checkpoints=[saved(4, facts={name: text})]) for text in "ab"
    )
    found = compare_runs(one, other)
    assert not found.same
    assert found.checkpoint is not None
    assert found.checkpoint.facts == (name,)


def test_a_hint_does_not_hide_a_later_difference() -> None:
    one, other = (
        run(text, records(8), checkpoints=[saved(4, facts={"timer": text}), saved(8, text)])
        for text in "ab"
    )
    found = compare_runs(one, other, _measured).checkpoint
    assert found is not None
    assert found.place.step == 8


def test_environments_are_compared() -> None:
    one, other = (run(name, records(2), environment={"cpus": len(name)}) for name in ("a", "bb"))
    [change] = compare_runs(one, other).environment
    assert (change.before, change.now, change.changes_bits) == ("1", "2", True)
