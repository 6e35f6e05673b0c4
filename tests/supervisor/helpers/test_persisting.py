"""When a snapshot goes to disk."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.link.messages import SnapshotReport
from pitstop.supervisor.helpers.saving import (
    COST_FACTOR,
    FIRST_SECONDS,
    LEAST_AFTER_LOSS_SECONDS,
    LEAST_INTERVAL_SECONDS,
    Persisting,
    interval_seconds,
)
from pitstop.supervisor.records.history import NO_LOSSES, Losses


def _snapshot(sequence: int, reason: str = "cadence", *, durable: bool = False) -> SnapshotReport:
    return SnapshotReport(sequence, step=sequence, epoch=0, reason=reason, durable=durable)


def test_first_checkpoint_comes_early_but_not_at_once() -> None:
    policy = Persisting.start(100.0).taken(_snapshot(1))
    assert policy.due(100.0 + FIRST_SECONDS - 0.1) == ""
    assert policy.due(100.0 + FIRST_SECONDS) == "cadence"


def test_without_a_snapshot_nothing_is_due() -> None:
    assert Persisting.start(0.0).due(1e9) == ""


def test_durable_snapshot_is_due_at_once() -> None:
    policy = Persisting.start(0.0).taken(_snapshot(1, "stop", durable=True))
    assert policy.due(0.0) == "stop"


def test_durable_request_survives_a_newer_snapshot() -> None:
    policy = Persisting.start(0.0).taken(_snapshot(1, "fit_end", durable=True))
    assert policy.taken(_snapshot(2)).due(0.0) == "fit_end"


def test_what_is_in_memory_is_written_when_memory_gets_short() -> None:
    policy = Persisting.start(0.0).taken(_snapshot(1)).hurried("pressure")
    assert policy.due(0.0) == "pressure"
    assert policy.asked().answered(1, 0.0, 0.1).taken(_snapshot(2)).due(0.1) == ""
    assert Persisting.start(0.0).hurried("pressure").taken(_snapshot(1)).due(0.0) == "pressure"
    stop = Persisting.start(0.0).taken(_snapshot(1, "stop", durable=True))
    assert stop.hurried("pressure").due(0.0) == "stop"


def test_one_request_at_a_time() -> None:
    policy = Persisting.start(0.0).taken(_snapshot(1, durable=True)).asked()
    policy = policy.taken(_snapshot(2, "stop", durable=True))
    assert policy.due(0.0) == ""
    assert policy.answered(1, 0.0, 0.1).due(0.0) == "stop"


def test_request_served_by_an_answer_in_flight_is_not_made_again() -> None:
    policy = Persisting.start(0.0).taken(_snapshot(1)).asked()
    policy = policy.taken(_snapshot(2, "stop", durable=True)).answered(2, 0.0, 0.1)
    assert policy.due(1e9) == ""
    assert policy.taken(_snapshot(3)).due(0.1) == ""


def test_costly_checkpoints_are_rarer() -> None:
    cheap = Persisting.start(0.0).taken(_snapshot(1)).asked().answered(1, 0.0, 0.001)
    dear = Persisting.start(0.0).taken(_snapshot(1)).asked().answered(1, 0.0, 2.0)
    newer = _snapshot(2)
    assert cheap.taken(newer).due(LEAST_INTERVAL_SECONDS) == "cadence"
    assert dear.taken(newer).due(2.0 * COST_FACTOR - 0.1) == ""
    assert dear.taken(newer).due(2.0 * COST_FACTOR) == "cadence"


def test_without_losses_the_cost_alone_counts() -> None:
    assert interval_seconds(0.1, math.inf) == LEAST_INTERVAL_SECONDS
    assert interval_seconds(4.0, math.inf) == 4.0 * COST_FACTOR


def test_observed_losses_make_checkpoints_more_frequent() -> None:
    # Daly: sqrt(2 * 8 s * 1 h) - 8 s = 232 s, where the cost alone would say 400 s.
    assert interval_seconds(8.0, 3600.0) == pytest.approx(232, abs=0.1)
    losses = Losses(count=2, observed_seconds=7000.0)
    policy = Persisting.start(0.0, losses).taken(_snapshot(1)).asked().answered(1, 200.0, 8.0)
    assert policy.interval_seconds == pytest.approx(232, abs=0.1)
    assert policy.taken(_snapshot(2)).due(200.0 + 231.0) == ""
    assert policy.taken(_snapshot(2)).due(200.0 + 233.0) == "cadence"


@given(st.floats(0, 1e4), st.floats(0, 1e8))
def test_losses_never_make_them_rarer_nor_too_frequent(took: float, mean: float) -> None:
    interval = interval_seconds(took, mean)
    assert LEAST_AFTER_LOSS_SECONDS <= interval <= interval_seconds(took, math.inf)


def test_frequent_losses_of_what_is_cheap_to_save() -> None:
    # Daly: sqrt(2 * 0.05 s * 20 s) - 0.05 s
    assert interval_seconds(0.05, 20.0) == pytest.approx(1.36, abs=0.01)


@pytest.mark.parametrize("losses", [NO_LOSSES, Losses(count=9, observed_seconds=90.0)])
def test_failure_is_tried_again_later_not_at_once(losses: Losses) -> None:
    policy = Persisting.start(0.0, losses).taken(_snapshot(1)).asked().failed(50.0)
    assert policy.due(50.0) == ""
    assert policy.due(50.0 + LEAST_INTERVAL_SECONDS) == "cadence"


def test_saved_snapshot_is_not_saved_again() -> None:
    policy = Persisting.start(0.0).taken(_snapshot(1)).asked().answered(1, 0.0, 0.0)
    assert policy.due(1e9) == ""
