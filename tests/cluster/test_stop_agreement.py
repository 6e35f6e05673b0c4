"""The agreement on a stop step, simulated: delays, losses, repetitions, other orders, crashes."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pitstop.cluster import stop_agreement
from pitstop.cluster.messages import Commit, Hold, HoldAnswer
from pitstop.cluster.spec import Task
from pitstop.cluster.stop_agreement import CONFIRMS, HOLDS, ON_ITS_WAY, PASSED
from tests.cluster.gang_simulation import REASON, Simulation
from tests.cluster.simulated_network import Conditions

W0, W1, W2 = (Task("worker", index) for index in range(3))


@pytest.mark.parametrize("lockstep", [True, False])
@pytest.mark.parametrize(("loss", "latency_seconds"), [(0.0, 0.02), (0.2, 0.02), (0.02, 1.0)])
@pytest.mark.parametrize("count", [2, 3, 20])
def test_all_members_stop_at_one_step(
    count: int, loss: float, latency_seconds: float, *, lockstep: bool
) -> None:
    for seed in range(4):
        simulation = Simulation(Conditions(count, seed, loss, latency_seconds, lockstep))
        step = simulation.run()
        assert simulation.stopped() == {step}


@settings(max_examples=40, deadline=None)
@given(
    count=st.integers(2, 6),
    seed=st.integers(0, 1 << 30),
    loss=st.floats(0.0, 0.4),
    step_seconds=st.sampled_from([0.0005, 0.005, 0.2]),
    lockstep=st.booleans(),
    crash=st.booleans(),
)
@example(count=4, seed=4, loss=0.171875, step_seconds=0.2, lockstep=False, crash=False)
def test_there_are_never_two_stop_steps(
    count: int, seed: int, loss: float, step_seconds: float, lockstep: bool, crash: bool
) -> None:
    conditions = Conditions(
        count, seed, loss, lockstep=lockstep, step_seconds=step_seconds, crash=crash
    )
    simulation = Simulation(conditions)
    step = simulation.run()
    assert simulation.stopped() <= {step}
    assert simulation.stopped() or crash


def test_in_lockstep_two_rounds_are_enough() -> None:
    for seed in range(30):
        simulation = Simulation(Conditions(5, seed, latency_seconds=0.2))
        simulation.run()
        assert simulation.rounds <= 2


def test_another_round_begins_where_one_had_passed_the_step() -> None:
    agreement, _ = stop_agreement.begun(frozenset({W0, W1, W2}), 10, REASON)
    agreement, _ = stop_agreement.answered(agreement, W0, HoldAnswer(1, HOLDS, 10))
    agreement, _ = stop_agreement.answered(agreement, W1, HoldAnswer(1, PASSED, 11))
    agreement, orders = stop_agreement.answered(agreement, W2, HoldAnswer(1, ON_ITS_WAY, 10))
    assert orders == tuple((task, Hold(2, 11, REASON)) for task in (W0, W1, W2))
    agreement, orders = stop_agreement.answered(agreement, W1, HoldAnswer(2, ON_ITS_WAY, 11))
    for task in (W0, W2, W1):
        assert not agreement.agreed
        agreement, orders = stop_agreement.answered(agreement, task, HoldAnswer(2, HOLDS, 11))
    assert orders == tuple((task, Commit(11)) for task in (W0, W1, W2))


def test_an_agreement_is_told_to_a_member_until_it_confirms() -> None:
    agreement, _ = stop_agreement.begun(frozenset({W0, W1}), 10, REASON)
    for task in (W0, W1):
        agreement, _ = stop_agreement.answered(agreement, task, HoldAnswer(1, HOLDS, 10))
    again = stop_agreement.answered(agreement, W0, HoldAnswer(1, HOLDS, 10))
    assert again == (agreement, ((W0, Commit(10)),))
    agreement, orders = stop_agreement.answered(agreement, W0, HoldAnswer(0, CONFIRMS, 10))
    assert orders == ()
    assert agreement.orders(agreement.awaited) == ((W1, Commit(10)),)


def test_a_task_that_does_not_train_has_no_part_in_it() -> None:
    agreement, _ = stop_agreement.begun(frozenset({W0, W1}), 10, REASON)
    assert stop_agreement.answered(agreement, W2, HoldAnswer(1, PASSED, 11)) == (agreement, ())


def test_an_answer_to_an_earlier_round_counts_for_nothing() -> None:
    agreement, _ = stop_agreement.begun(frozenset({W0, W1}), 10, REASON)
    agreement, _ = stop_agreement.answered(agreement, W0, HoldAnswer(1, PASSED, 11))
    agreement, _ = stop_agreement.answered(agreement, W1, HoldAnswer(1, PASSED, 11))
    assert (agreement.round, agreement.step) == (2, 11)
    assert stop_agreement.answered(agreement, W1, HoldAnswer(1, HOLDS, 11)) == (agreement, ())


@pytest.mark.parametrize(
    ("entering", "held", "state", "step"),
    [
        (9, -1, ON_ITS_WAY, 10),
        (10, 9, ON_ITS_WAY, 10),
        (11, 10, HOLDS, 10),
        (11, -1, PASSED, 11),
        (12, 10, PASSED, 12),
        (13, 12, PASSED, 12),
    ],
)
def test_what_a_member_answers(entering: int, held: int, state: str, step: int) -> None:
    answer = stop_agreement.answer_to(Hold(1, 10, REASON), entering, held)
    assert answer == HoldAnswer(1, state, step)
