"""The state that all members go on from: one that all hold, and that all could read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pitstop.cluster.messages import GangReady, GangRefused, Muster, ResumeAnswer, ResumeProposal
from pitstop.cluster.resume_agreement import ANEW, ResumeAgreement, mark_of
from pitstop.cluster.spec import Task
from tests.cluster.resume_simulation import ResumeSimulation
from tests.cluster.simulated_network import Conditions

W0, W1 = Task("worker", 0), Task("worker", 1)


def begun() -> ResumeAgreement:
    return ResumeAgreement([W0, W1], W0, "g2-2")


def muster(*steps: int, gang: str = "g1-2", attempt: int = 2, level: str = "exact") -> Muster:
    marks = [mark_of(gang, 0, step, "") for step in steps]
    return Muster(attempt, marks, [level] * len(marks), [gang])


def agreed(leader: Muster, other: Muster, damaged: frozenset[str] = frozenset()) -> ResumeAgreement:
    """The agreement after all have said what they hold, and have read what was proposed."""
    agreement = begun()
    assert agreement.mustered(W0, leader) == ()
    words = agreement.mustered(W1, other)
    while agreement.outcome is None:
        [order] = {order for _, order in words}
        assert isinstance(order, ResumeProposal)
        assert [task for task, _ in words] == [W0, W1]
        for task in (W0, W1):
            answer = ResumeAnswer(order.proposal, order.mark not in damaged)
            words = agreement.verified(task, answer)
            if not answer.verified:
                break
    return agreement


def step_of(agreement: ResumeAgreement) -> int | None:
    assert isinstance(agreement.outcome, GangReady)
    mark = agreement.outcome.mark
    return None if mark == ANEW else int(mark.split(":")[2])


def test_the_newest_that_all_hold() -> None:
    assert step_of(agreed(muster(119, 100, 80), muster(120, 100, 80))) == 100
    assert step_of(agreed(muster(100), muster(120, 100))) == 100


def test_where_there_is_none_all_begin_anew() -> None:
    assert step_of(agreed(muster(119), muster(120))) is None
    assert step_of(agreed(muster(), muster())) is None


def test_a_state_of_the_same_step_and_of_another_gang_is_another_one() -> None:
    other = replace(muster(100, gang="g0-2"), gangs=["g0-2", "g1-2"])
    assert step_of(agreed(replace(muster(100), gangs=["g0-2", "g1-2"]), other)) is None


def test_one_that_is_damaged_for_a_member_is_none() -> None:
    damaged = frozenset({mark_of("g1-2", 0, 100, "")})
    assert step_of(agreed(muster(100, 80), muster(100, 80), damaged)) == 80


def test_the_end_of_a_training_is_not_its_last_step() -> None:
    end = Muster(2, [mark_of("g1-2", 0, 100, "loop_end")], ["exact"], ["g1-2"])
    assert step_of(agreed(end, muster(100))) is None


def test_the_joint_level_is_the_worst() -> None:
    outcome = agreed(muster(100), muster(100, level="not_exact")).outcome
    assert isinstance(outcome, GangReady)
    assert outcome.doubt == "the saved state of worker 1 is not exact"
    outcome = agreed(muster(100, level="exact_by_replay"), muster(100)).outcome
    mark = mark_of("g1-2", 0, 100, "")
    assert outcome == GangReady(2, "g2-2", mark, common=[mark])


def test_ends_that_not_all_have_saved_are_not_used() -> None:
    """Which ends are worth it is decided by each member's clock."""
    first, second, newest = (
        mark_of("g1-2", fit, 10 * fit + 10, "fit_end" if fit < 2 else "") for fit in range(3)
    )
    leader, other = (
        Muster(2, marks, ["exact"] * len(marks), ["g1-2"])
        for marks in ([newest, second, first], [newest, first])
    )
    outcome = agreed(leader, other).outcome
    assert isinstance(outcome, GangReady)
    assert (outcome.mark, outcome.common) == (newest, [newest, first])


def test_the_reason_of_the_level_is_told_to_all_and_at_each_resume_the_same() -> None:
    drawn = replace(muster(100, level="not_exact"), doubt="its batches are drawn")
    outcome = agreed(drawn, muster(100)).outcome
    assert isinstance(outcome, GangReady)
    assert outcome.doubt == "the saved state of worker 0 is not exact: its batches are drawn"
    again = replace(muster(100, level="not_exact"), doubt=outcome.doubt)
    later = agreed(again, again).outcome
    assert isinstance(later, GangReady)
    assert later.doubt == outcome.doubt


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (replace(muster(100), strays=True), "was not saved together"),
        (Muster(1), "another folder"),
        (Muster(1, ["g0-3:0:9:"], ["exact"], ["g0-3", "g1-2"]), "3 members"),
    ],
)
def test_members_that_did_not_train_together_are_refused(other: Muster, reason: str) -> None:
    agreement = agreed(muster(100), other)
    assert isinstance(agreement.outcome, GangRefused)
    assert reason in agreement.outcome.reason


def test_a_member_that_asks_again_hears_the_same() -> None:
    agreement = begun()
    agreement.mustered(W0, muster(100))
    words = agreement.mustered(W1, muster(100))
    assert agreement.mustered(W1, muster(100)) == (words[1],)
    done = agreed(muster(100), muster(100))
    assert done.mustered(W1, muster(100)) == ((W1, done.outcome),)


def test_each_is_told_of_the_attempt_that_is_meant() -> None:
    done = agreed(muster(100, attempt=2), muster(100, attempt=5))
    [(_, told)] = done.mustered(W1, muster(100, attempt=5))
    assert isinstance(told, GangReady)
    assert told.attempt == 5


def test_an_answer_to_an_earlier_proposal_counts_for_nothing() -> None:
    agreement = begun()
    agreement.mustered(W0, muster(100, 80))
    agreement.mustered(W1, muster(100, 80))
    [(_, second), _] = agreement.verified(W0, ResumeAnswer(1, verified=False))
    assert second == ResumeProposal(2, mark_of("g1-2", 0, 80, ""))
    for task in (W0, W1):
        assert agreement.verified(task, ResumeAnswer(1, verified=True)) == ()
        assert agreement.outcome is None


def test_an_answer_that_comes_twice_counts_once() -> None:
    agreement = begun()
    agreement.mustered(W0, muster(100))
    agreement.mustered(W1, muster(100))
    agreement.verified(W0, ResumeAnswer(1, verified=True))
    assert agreement.verified(W0, ResumeAnswer(1, verified=True)) == ()
    assert agreement.outcome is None
    assert len(agreement.verified(W1, ResumeAnswer(1, verified=True))) == 2


def test_one_that_begins_again_is_asked_again_with_all_others() -> None:
    agreement = begun()
    agreement.mustered(W0, muster(100))
    agreement.mustered(W1, muster(100))
    agreement.verified(W0, ResumeAnswer(1, verified=True))
    again = agreement.mustered(W1, muster(100, attempt=3))
    assert [task for task, _ in again] == [W0, W1]
    assert agreement.verified(W1, ResumeAnswer(2, verified=True)) == ()
    assert agreement.outcome is None


@given(
    st.lists(st.integers(0, 30), unique=True).map(lambda steps: sorted(steps, reverse=True)),
    st.lists(st.integers(0, 30), unique=True).map(lambda steps: sorted(steps, reverse=True)),
    st.frozensets(st.integers(0, 30)),
)
def test_all_restore_one_state_that_each_holds(
    leader: list[int], other: list[int], damaged: frozenset[int]
) -> None:
    marks = frozenset(mark_of("g1-2", 0, step, "") for step in damaged)
    step = step_of(agreed(muster(*leader), muster(*other), marks))
    assert step == max({*leader} & {*other} - damaged, default=None)


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(2, 6),
    seed=st.integers(0, 1 << 30),
    loss=st.floats(0.0, 0.4),
    chance_of_damage=st.sampled_from([0.0, 0.1, 0.5]),
    crash=st.booleans(),
)
@example(count=6, seed=220, loss=0.0, chance_of_damage=0.1, crash=True)
@example(count=6, seed=2140, loss=0.1, chance_of_damage=0.0, crash=True)
def test_all_begin_together_from_the_newest_whole_state_whatever_is_lost(
    count: int, seed: int, loss: float, chance_of_damage: float, crash: bool
) -> None:
    conditions = Conditions(count, seed, loss, crash=crash)
    simulation = ResumeSimulation(conditions, chance_of_damage=chance_of_damage)
    simulation.run()
    assert simulation.together is not None
    gangs = {ready.gang: ready.mark for _, ready in simulation.begun}
    for task, ready in simulation.begun:
        assert ready.mark == gangs[ready.gang] == simulation.best()
        held = {simulation.saved_at(step) for step in simulation.members[task].holds} | {ANEW}
        assert ready.mark in held


def test_hundreds_begin_soon_though_words_are_lost() -> None:
    simulation = ResumeSimulation(Conditions(500, seed=1, loss=0.05))
    simulation.run()
    assert simulation.all_begun_seconds is not None
    assert simulation.all_begun_seconds < 3.0  # simulated; by one word a second, 6 to 8
