"""The state that all members go on from: one that all hold, and that all could read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.cluster import resume_agreement
from pitstop.cluster.messages import GangReady, GangRefused, Muster, ResumeAnswer, ResumeProposal
from pitstop.cluster.resume_agreement import ANEW, ResumeAgreement, mark_of
from pitstop.cluster.spec import Task

W0, W1 = Task("worker", 0), Task("worker", 1)
MEMBERS = frozenset({W0, W1})


def muster(*steps: int, gang: str = "g1-2", attempt: int = 2, level: str = "exact") -> Muster:
    marks = [mark_of(gang, 0, step, "") for step in steps]
    return Muster(attempt, marks, [level] * len(marks), [gang])


def agreed(leader: Muster, other: Muster, damaged: frozenset[str] = frozenset()) -> ResumeAgreement:
    """The agreement after all have said what they hold, and have read what was proposed."""
    agreement = ResumeAgreement(MEMBERS, W0, "g2-2")
    agreement, words = resume_agreement.mustered(agreement, W0, leader)
    assert words == ()
    agreement, words = resume_agreement.mustered(agreement, W1, other)
    while agreement.outcome is None:
        [order] = {order for _, order in words}
        assert isinstance(order, ResumeProposal)
        assert [task for task, _ in words] == [W0, W1]
        for task in (W0, W1):
            answer = ResumeAnswer(order.proposal, order.mark not in damaged)
            agreement, words = resume_agreement.verified(agreement, task, answer)
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
    assert outcome == GangReady("g2-2", mark_of("g1-2", 0, 100, ""))


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
    agreement = ResumeAgreement(MEMBERS, W0, "g2-2")
    agreement, _ = resume_agreement.mustered(agreement, W0, muster(100))
    agreement, words = resume_agreement.mustered(agreement, W1, muster(100))
    same, again = resume_agreement.mustered(agreement, W1, muster(100))
    assert again == (words[1],)
    assert same == agreement
    done = agreed(muster(100), muster(100))
    assert resume_agreement.mustered(done, W1, muster(100)) == (done, ((W1, done.outcome),))


def test_an_answer_to_an_earlier_proposal_counts_for_nothing() -> None:
    agreement = ResumeAgreement(MEMBERS, W0, "g2-2")
    agreement, _ = resume_agreement.mustered(agreement, W0, muster(100, 80))
    agreement, _ = resume_agreement.mustered(agreement, W1, muster(100, 80))
    agreement, _ = resume_agreement.verified(agreement, W0, ResumeAnswer(1, verified=False))
    assert agreement.proposal == 2
    after, words = resume_agreement.verified(agreement, W1, ResumeAnswer(1, verified=True))
    assert (after, words) == (agreement, ())


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
