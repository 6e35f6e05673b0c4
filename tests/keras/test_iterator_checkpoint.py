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
