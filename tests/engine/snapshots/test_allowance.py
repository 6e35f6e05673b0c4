"""What is bought from a share of the time never costs more than it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pitstop.engine.snapshots.cadence import Allowance

SECOND_NS = 1_000_000_000


@given(st.floats(0.001, 0.1), st.integers(1, 10**8), st.integers(10**5, 10**9))
def test_all_that_is_bought_stays_within_the_share(
    share: float, cost_ns: int, step_ns: int
) -> None:
    allowance, spent_ns, now_ns = Allowance(share, 0, 0), 0, 0
    for _ in range(200):
        now_ns += step_ns
        if allowance.covers(now_ns):
            now_ns += cost_ns
            allowance.spend(now_ns - cost_ns, now_ns)
            spent_ns += cost_ns
    # The first is bought before it is known what one costs.
    assert spent_ns <= share * now_ns + cost_ns + 1


def test_the_age_of_the_process_has_earned_its_share() -> None:
    allowance = Allowance(0.005, now_ns=100 * SECOND_NS, age_ns=4 * SECOND_NS)
    bought = 0
    while allowance.covers(100 * SECOND_NS):
        allowance.spend(100 * SECOND_NS - 2_000_000, 100 * SECOND_NS)
        bought += 1
    assert bought == 10


def test_a_long_wait_earns_a_minute_of_it() -> None:
    allowance = Allowance(0.005, 0, 0)
    allowance.spend(0, 300_000_000)
    assert not allowance.covers(119 * SECOND_NS)
    assert allowance.covers(120 * SECOND_NS)


def test_what_costs_more_than_can_be_earned_beforehand_is_paid_afterwards() -> None:
    allowance = Allowance(0.005, 0, 60 * SECOND_NS)
    allowance.spend(0, SECOND_NS)
    assert not allowance.covers(200 * SECOND_NS)
    assert allowance.covers(201 * SECOND_NS)
