"""What a snapshot costs, told by the steps behind it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.engine.session.step_boundary import StepClock

SECONDS = st.floats(0, 1e6)


def clock_at(seconds: float) -> StepClock:
    clock = StepClock()
    clock.lap(seconds)
    return clock


def test_the_first_step_is_typical() -> None:
    assert StepClock().typical_seconds == 0
    assert clock_at(3.0).typical_seconds == 3.0


@given(st.lists(SECONDS, min_size=1))
def test_the_typical_time_lies_between_the_extremes(laps: list[float]) -> None:
    clock = StepClock()
    assert [clock.lap(seconds) for seconds in laps] == [None] * len(laps)
    known = [seconds for seconds in laps if seconds > 0] or [0.0]
    assert min(laps) * 0.999 <= clock.typical_seconds <= max(known) * 1.001


def test_the_typical_time_is_smoothed() -> None:
    clock = clock_at(1.0)
    clock.lap(2.0)
    assert clock.typical_seconds == pytest.approx(1.1)


def test_a_snapshot_costs_what_the_next_two_steps_lose() -> None:
    clock = clock_at(1.0)
    clock.snapshot_taken()
    assert clock.lap(1.5) is None
    assert clock.lap(1.2) == pytest.approx(0.7)
    assert clock.lap(9.0) is None


def test_slowed_steps_are_not_typical() -> None:
    clock = clock_at(1.0)
    clock.snapshot_taken()
    clock.lap(50.0)
    clock.lap(50.0)
    assert clock.typical_seconds == 1.0


def test_a_snapshot_never_costs_less_than_nothing() -> None:
    clock = clock_at(1.0)
    clock.snapshot_taken()
    clock.lap(0.1)
    assert clock.lap(0.1) == 0.0


def test_a_snapshot_soon_after_another_begins_anew() -> None:
    clock = clock_at(1.0)
    clock.snapshot_taken()
    clock.lap(8.0)
    assert clock.cut_short() == pytest.approx(7.0)
    clock.snapshot_taken()
    assert clock.lap(1.25) is None
    assert clock.lap(1.25) == pytest.approx(0.5)
    assert clock.cut_short() is None


def test_with_a_snapshot_at_every_step_the_shortest_step_is_typical() -> None:
    clock = StepClock()
    costs = []
    for seconds in (3.0, 1.0, 1.5, 2.0):
        clock.snapshot_taken()
        clock.lap(seconds)
        costs.append(clock.cut_short())
    assert costs == pytest.approx([0.0, 0.0, 0.5, 1.0])
    assert clock.typical_seconds == 1.0


def test_a_step_without_a_snapshot_tells_better_than_the_shortest() -> None:
    clock = StepClock()
    clock.snapshot_taken()
    clock.lap(0.5)
    clock.cut_short()
    clock.lap(2.0)
    assert clock.typical_seconds == 2.0


def test_the_first_slowed_step_does_not_stand_for_the_typical_one() -> None:
    clock = StepClock()
    clock.snapshot_taken()
    assert clock.lap(3.0) is None
    assert clock.lap(1.0) == pytest.approx(2.0)
