"""Ends of short trainings are not saved for ever."""

from __future__ import annotations

from pitstop.engine.snapshots.cadence import Milestones

SECOND_NS = 1_000_000_000


def trained(milestones: Milestones, begun: int, seconds: float) -> bool:
    milestones.begin(7, repeats=False)
    return milestones.wanted(begun, 7 + int(seconds * SECOND_NS))


def test_the_first_trainings_are_saved_however_short() -> None:
    milestones = Milestones(0.01)
    wanted = [trained(milestones, begun, 0.03) for begun in range(1, 151)]
    assert wanted == [True] * 20 + [False] * 130
    assert milestones.left_out == 130


def test_saving_stays_within_half_of_the_budget_afterwards() -> None:
    milestones = Milestones(0.01)
    milestones.saved(0.1)
    assert not trained(milestones, 21, 19.9)
    assert trained(milestones, 22, 20.1)
    assert milestones.left_out == 1


def test_a_training_repeats_an_earlier_one_for_as_long_as_that_can_have_taken() -> None:
    milestones = Milestones(0.01)
    milestones.begin(0, repeats=True)
    assert milestones.repeats(9 * SECOND_NS)
    assert not milestones.repeats(11 * SECOND_NS)
    milestones.begin(SECOND_NS, repeats=False)
    assert not milestones.repeats(2 * SECOND_NS)
