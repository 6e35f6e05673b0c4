"""How often a run lost what was in memory."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.events import AttemptEnded, AttemptStarted, Event, Notice, StopRequested
from pitstop.journal import Entry
from pitstop.supervisor.records.history import Losses, optimal_interval_seconds

STARTED = AttemptStarted(1, ["x"], 1, 2, "host")
ENDED = AttemptEnded(1, "failed", 137, 9, 8)
SAVED_BY_PERSISTER = StopRequested("supervisor_lost", "graceful")
STOPPED = StopRequested("signal", "graceful")
NOTICE = Notice("a", "b")


def attempts(*stories: tuple[float, float, tuple[Event, ...]]) -> list[Entry]:
    """Each attempt from a time to a time; its first event at the first, the others at the last."""
    return [
        Entry(end if index else begin, number, event)
        for number, (begin, end, events) in enumerate(stories, start=1)
        for index, event in enumerate(events)
    ]


def test_a_death_of_processes_is_no_loss() -> None:
    entries = attempts(
        (0.0, 10.0, (STARTED, NOTICE, ENDED)), (20.0, 40.0, (STARTED, STOPPED, SAVED_BY_PERSISTER))
    )
    assert Losses.from_entries(entries) == Losses(0, 30.0)
    assert Losses.from_entries(entries).mean_seconds(1e9) == math.inf


def test_an_attempt_without_any_last_word_is_one() -> None:
    entries = attempts(
        (0.0, 10.0, (STARTED, NOTICE)), (10.0, 30.0, (STARTED, STOPPED)), (30.0, 60.0, (STARTED,))
    )
    assert Losses.from_entries(entries).count == 3
    assert Losses(3, 60.0).mean_seconds() == 20.0
    assert Losses(3, 60.0).mean_seconds(running_seconds=30.0) == 30.0


def test_what_never_started_is_none() -> None:
    assert Losses.from_entries([]) == Losses()
    assert Losses.from_entries(attempts((0.0, 5.0, (NOTICE, NOTICE)))).count == 0


def test_a_clock_that_was_set_back_takes_no_time_away() -> None:
    entries = attempts((100.0, 20.0, (STARTED, ENDED)), (20.0, 50.0, (STARTED, NOTICE)))
    assert Losses.from_entries(entries) == Losses(1, 30.0)


def test_the_optimum_follows_the_formula() -> None:
    # sqrt(2 * 300 s * 86400 s) - 300 s
    assert optimal_interval_seconds(300.0, 86400.0) == pytest.approx(6900, abs=1)
    assert optimal_interval_seconds(300.0, 100.0) == 100.0


@given(st.floats(0.01, 100), st.floats(1, 1e7))
def test_the_optimum_loses_least(cost: float, mean: float) -> None:
    best = optimal_interval_seconds(cost, mean)
    if cost >= 2 * mean or best <= 0:
        return

    def lost(interval: float) -> float:
        """Young's model: writing, and on average half an interval again at each loss."""
        return cost / (interval + cost) + (interval + cost) / (2 * mean)

    assert lost(best) <= min(lost(best * 0.9), lost(best * 1.1)) + 1e-9
