"""When snapshots are due: within the budget, and at the fixed intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.engine.snapshots.cadence import Cadence

SECOND_NS = 1_000_000_000
# Once in a process, what the first snapshot seems to pay for others is not counted.
ONCE_SECONDS = 0.05


@dataclass
class Run:
    """A simulated training: equal steps, and snapshots that cost time."""

    cadence: Cadence
    step_seconds: float
    cost_seconds: float = 0.0
    step: int = 0
    now_ns: int = 0
    age_ns: int = 0
    taken: list[tuple[int, int]] = field(default_factory=list)

    def train(self, steps: int) -> Run:
        self.cadence.start(self.step, self.now_ns, self.age_ns)
        for _ in range(steps):
            self.now_ns += int(self.step_seconds * 1e9)
            self.step += 1
            if self.cadence.due(self.step, self.now_ns):
                self.snapshot()
        return self

    def snapshot(self) -> None:
        self.taken.append((self.step, self.now_ns))
        self.cadence.taken(self.step, self.now_ns)
        self.now_ns += int(self.cost_seconds * 1e9)
        self.cadence.cost_measured(self.cost_seconds)


@given(st.floats(0.001, 0.5), st.floats(0.0001, 1.0), st.floats(0.001, 2.0))
def test_the_share_of_time_stays_within_half_the_budget(
    overhead: float, cost_seconds: float, step_seconds: float
) -> None:
    run = Run(Cadence(overhead), step_seconds, cost_seconds).train(2000)
    for count, (_, begun_ns) in enumerate(run.taken):
        # When a snapshot begins, the ones before it have been earned.
        assert count * cost_seconds <= overhead / 2 * begun_ns / 1e9 * 1.001 + ONCE_SECONDS


@given(st.floats(0.01, 0.5), st.floats(0.001, 0.1))
def test_half_the_budget_is_used(overhead: float, cost_seconds: float) -> None:
    run = Run(Cadence(overhead), 0.001, cost_seconds).train(20_000)
    interval_seconds = max(cost_seconds / (overhead / 2), 0.2)
    longest_seconds = 0.5 + interval_seconds * len(run.taken) + cost_seconds + 0.002
    assert run.now_ns / 1e9 <= longest_seconds + 0.002 * len(run.taken)


def test_a_short_attempt_loses_little() -> None:
    run = Run(Cadence(0.01), step_seconds=0.1).train(6)
    assert [step for step, _ in run.taken] == [1, 3, 5]


def begun(age_seconds: float, cost_seconds: float, steps: int = 1000) -> list[float]:
    """Seconds from the first snapshot to each of the others, with steps of 1 ms."""
    age_ns = int(age_seconds * 1e9)
    run = Run(Cadence(0.01), 0.001, cost_seconds, age_ns=age_ns).train(steps)
    origin_ns = run.taken[0][1]
    return [(begun_ns - origin_ns) / 1e9 for _, begun_ns in run.taken[1:]]


def test_what_the_start_has_earned_is_spent_soon_at_growing_distances() -> None:
    early = begun(age_seconds=5, cost_seconds=0.002, steps=400)
    soon = [0.02, 0.04, 0.06, 0.08, 0.1, 0.125, 0.156, 0.195, 0.244, 0.305, 0.381]
    assert early == pytest.approx(soon, rel=0.2)


def test_without_a_start_there_is_nothing_to_spend() -> None:
    assert begun(age_seconds=0, cost_seconds=0.002) == pytest.approx([0.2, 0.6, 1.0], rel=0.02)


def test_a_snapshot_dearer_than_the_start_has_earned_waits_for_its_share() -> None:
    assert begun(age_seconds=5, cost_seconds=0.1, steps=11_000)[0] >= 10.0


def test_what_the_first_snapshot_pays_once_does_not_put_the_second_off() -> None:
    cadence = Cadence(0.01)
    cadence.start(0, 0, 3 * SECOND_NS)
    cadence.taken(1, 0)
    cadence.cost_measured(0.025)
    assert not cadence.due(2, 19_000_000)
    assert cadence.due(2, 20_000_000)


@given(st.floats(0, 600), st.floats(0.0001, 0.2), st.floats(0.001, 0.1))
def test_the_share_counts_from_the_start_of_the_process(
    age_seconds: float, cost_seconds: float, step_seconds: float
) -> None:
    run = Run(Cadence(0.01), step_seconds, cost_seconds, age_ns=int(age_seconds * 1e9)).train(1000)
    counted_seconds = min(age_seconds, 60.0)
    for count, (_, begun_ns) in enumerate(run.taken):
        # Two snapshots are taken before it is known what one costs.
        earned_seconds = 0.005 * (counted_seconds + begun_ns / 1e9) + ONCE_SECONDS
        assert count * cost_seconds <= earned_seconds * 1.001 + 1e-9


def test_a_later_fit_has_nothing_more_to_spend() -> None:
    cadence = Cadence(0.01)
    for _ in range(2):
        cadence.start(0, 0, 17 * SECOND_NS // 10)
        cadence.taken(1, 0)
        cadence.cost_measured(0.009)
        last = cadence.due(1, SECOND_NS)
    assert not last


def test_what_a_later_fit_has_begun_is_saved_before_its_first_step() -> None:
    cadence = Cadence(0.01)
    cadence.start(0, 0, marks=False)
    assert not cadence.due(0, 0)
    cadence.taken(1, 0)
    cadence.start(6, SECOND_NS // 10, marks=True)
    assert cadence.due(6, SECOND_NS // 10)
    cadence.taken(6, SECOND_NS // 10)
    assert not cadence.due(7, SECOND_NS // 10)


def test_nothing_is_due_before_the_start() -> None:
    assert not Cadence(0.01, every_steps=1, every_ns=1).due(10**9, 10**18)


def test_free_snapshots_are_still_apart() -> None:
    run = Run(Cadence(0.01), step_seconds=0.01).train(1000)
    times = [begun_ns for _, begun_ns in run.taken]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert min(gaps) >= SECOND_NS // 5


def test_the_first_cost_is_forgotten() -> None:
    cadence = Cadence(0.01)
    cadence.start(0, 0)
    for cost_seconds in (60.0, 0.01):
        cadence.taken(1, 0)
        cadence.cost_measured(cost_seconds)
    assert not cadence.due(1, 2 * SECOND_NS - 1)
    assert cadence.due(1, 2 * SECOND_NS)


def test_later_costs_are_smoothed() -> None:
    cadence = Cadence(0.01)
    cadence.start(0, 0)
    for cost_seconds in (9.0, 0.01, 0.02):
        cadence.taken(1, 0)
        cadence.cost_measured(cost_seconds)
    assert not cadence.due(1, int(2.59 * SECOND_NS))
    assert cadence.due(1, int(2.61 * SECOND_NS))


@pytest.mark.parametrize(("every", "stride"), [(5, 1), (5, 2), (1, 1), (3, 7)])
def test_fixed_steps(every: int, stride: int) -> None:
    cadence = Cadence(0.01, every_steps=every)
    cadence.start(0, 0)
    durable = []
    for step in range(stride, 60, stride):
        if cadence.fixed_due(step, 0):
            assert cadence.due(step, 0)
            durable.append(step)
            cadence.taken(step, 0)
    multiples = {step // every for step in range(stride, 60, stride) if step >= every}
    assert [step // every for step in durable] == sorted(multiples)


def test_fixed_steps_count_over_the_whole_run() -> None:
    cadence = Cadence(0.01, every_steps=10)
    cadence.start(25, 0)
    assert [step for step in range(26, 31) if cadence.fixed_due(step, 0)] == [30]


def test_fixed_seconds() -> None:
    cadence = Cadence(0.01, every_ns=3 * SECOND_NS)
    cadence.start(0, 0)
    durable = []
    for second in range(1, 11):
        now_ns = second * SECOND_NS
        if cadence.due(second, now_ns):
            durable += [second] if cadence.fixed_due(second, now_ns) else []
            cadence.taken(second, now_ns)
    assert durable == [3, 6, 9]


def test_a_snapshot_of_the_budget_does_not_put_a_fixed_one_off() -> None:
    cadence = Cadence(0.01, every_ns=3 * SECOND_NS)
    cadence.start(0, 0)
    cadence.taken(1, 2 * SECOND_NS)
    assert not cadence.fixed_due(1, 3 * SECOND_NS - 1)
    assert cadence.fixed_due(1, 3 * SECOND_NS)


def test_a_postponed_snapshot_is_tried_again_shortly() -> None:
    cadence = Cadence(0.01)
    cadence.start(0, 0)
    assert cadence.due(1, SECOND_NS)
    cadence.postponed(SECOND_NS)
    assert not cadence.due(1, SECOND_NS + 19_000_000)
    assert cadence.due(1, SECOND_NS + 20_000_000)


def test_postponing_keeps_the_fixed_interval() -> None:
    cadence = Cadence(0.01, every_steps=2, every_ns=SECOND_NS + 1)
    cadence.start(0, 0)
    cadence.postponed(SECOND_NS)
    assert cadence.due(1, SECOND_NS + 1)
    assert cadence.due(2, SECOND_NS)


@pytest.mark.parametrize("every_steps", [0, 7, 50])
def test_from_the_last_step_on_every_boundary_is_due(every_steps: int) -> None:
    cadence = Cadence(0.01, every_steps=every_steps, last_step=20)
    cadence.start(0, 0)
    assert cadence.due(1, 0)  # the first step always is
    cadence.taken(1, 0)
    for step in range(2, 20):
        assert cadence.due(step, 0) == cadence.fixed_due(step, 0)
        if cadence.due(step, 0):
            cadence.taken(step, 0)
    assert cadence.due(20, 0)
    assert cadence.due(21, 0)


def test_what_the_user_asked_for_is_told_apart_from_the_budget() -> None:
    cadence = Cadence(0.01, every_steps=10, last_step=25)
    cadence.start(0, 0)
    assert cadence.due(1, 0)
    asked = [step for step in range(1, 30) if cadence.asked(step, 0)]
    assert asked == list(range(10, 30))
    cadence.taken(20, 0)
    assert [step for step in range(20, 30) if cadence.asked(step, 0)] == list(range(25, 30))
