"""Merging the attempts of a run into what it computed at each step."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pitstop.comparison.record import Trace, merge
from pitstop.steps import StepRecord
from tests.comparison.runs import record, records

_RECORDS = st.builds(record, st.integers(1, 12), st.sampled_from([0.5, 0.25, float("nan")]))
_ATTEMPTS = st.lists(st.lists(_RECORDS, max_size=12), max_size=4)


@given(_ATTEMPTS)
def test_the_last_computation_of_a_step_counts(attempts: list[list[StepRecord]]) -> None:
    flat = [each for attempt in attempts for each in attempt]
    trace = merge(attempts)
    assert trace.records == {each.step: each for each in flat}
    assert list(trace.records) == sorted(trace.records)


@given(_ATTEMPTS)
def test_every_repetition_is_counted_and_every_different_one_kept(
    attempts: list[list[StepRecord]],
) -> None:
    flat = [each for attempt in attempts for each in attempt]
    trace = merge(attempts)
    assert len(trace.records) + trace.recomputed_steps == len(flat)
    assert len(trace.disagreements) <= trace.recomputed_steps
    for each in trace.disagreements:
        assert each.first.step == each.again.step == each.step
        assert not each.first.same_bits(each.again)


@given(st.lists(_RECORDS, max_size=12, unique_by=lambda each: each.step), st.data())
def test_repeating_steps_exactly_changes_nothing(
    once: list[StepRecord], data: st.DataObject
) -> None:
    again = data.draw(st.lists(st.sampled_from(once), max_size=5)) if once else []
    trace = merge([once, again])
    assert trace.records == merge([once]).records
    assert trace.disagreements == ()


def test_an_attempt_that_goes_on_earlier_is_compared_with_the_one_before() -> None:
    trace = merge([records(8), records(10, first_step=5, losses={7: 0.25})])
    assert trace.last_step == 10
    assert trace.recomputed_steps == 4
    [found] = trace.disagreements
    assert (found.step, found.first.loss, found.again.loss) == (7, 0.5, 0.25)


def test_ends_of_epochs() -> None:
    assert merge([records(12)]).epoch_ends() == (5, 10, 12)
    second_fit = StepRecord(6, 1, 0, 0.5, 0.0, 1)
    assert merge([[*records(5), second_fit]]).epoch_ends() == (5, 6)
    assert Trace({}).epoch_ends() == ()
