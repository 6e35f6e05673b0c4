"""An anchor serves while drawing again stays cheap, and for its own iterator only."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.keras.iterator_checkpoint import STATES_SHARE, IteratorCheckpoint

ANCHOR = IteratorCheckpoint(b"state", created=2, drawn=5, taken_seconds=100.0, cost_seconds=0.01)


@pytest.mark.parametrize(("age_seconds", "serves"), [(0.0, True), (3.99, True), (4.01, False)])
def test_it_serves_for_a_while(age_seconds: float, serves: bool) -> None:
    assert ANCHOR.serves(2, 100.0 + age_seconds) is serves


def test_what_is_dear_serves_longer() -> None:
    dear = replace(ANCHOR, cost_seconds=1.0)
    assert dear.serves(2, 100.0 + 0.99 / STATES_SHARE)


def test_another_iterator_needs_another() -> None:
    assert not ANCHOR.serves(3, 100.0)


@pytest.mark.parametrize(
    ("seconds", "snapshot_seconds", "overhead", "expected"),
    [
        # At 1 %, half of it for snapshots, 0.3 s can be spent once a minute.
        (0.31, 0.4, 0.01, True),
        (0.29, 0.4, 0.01, False),
        (0.31, 1.3, 0.01, False),
        (0.31, 0.4, 0.02, False),
        (1.5, 1.6, 0.02, True),
        (0.0, 0.0, 0.01, False),
    ],
)
def test_what_costs_too_much(
    seconds: float, snapshot_seconds: float, overhead: float, expected: bool
) -> None:
    dear = replace(ANCHOR, cost_seconds=seconds)
    assert dear.costs_too_much(snapshot_seconds, overhead) is expected


def test_the_user_is_told_the_cost() -> None:
    dear = replace(ANCHOR, data=bytes(123_000_000), cost_seconds=1.46)
    assert "1.5 s and 123 MB" in dear.cost_words
