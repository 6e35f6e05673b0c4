"""Snapshots that must reach the disk."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from pitstop.engine.snapshots.copier import Durability
from pitstop.link.beacon import Beacon


@pytest.fixture
def beacon() -> Iterator[Beacon]:
    made = Beacon.create()
    yield made
    os.close(made.fd)


def test_nothing_is_pending_before_anything_matters(beacon: Beacon) -> None:
    assert not Durability(beacon, lambda: True).pending


def test_it_is_pending_until_the_persister_is_done_with_it(beacon: Beacon) -> None:
    durability = Durability(beacon, lambda: True)
    durability.expect(7)
    beacon.settle(6)
    assert durability.pending
    beacon.settle(7)
    assert not durability.pending


def test_a_snapshot_that_could_not_be_taken_is_not_waited_for(beacon: Beacon) -> None:
    durability = Durability(beacon, lambda: True)
    durability.expect(0)
    assert not durability.pending


def test_without_a_supervisor_nobody_asks_the_persister(beacon: Beacon) -> None:
    durability = Durability(beacon, lambda: False)
    durability.expect(7)
    durability.wait(lambda: True)
    assert not durability.pending


def test_waiting_ends_when_it_is_durable_or_patience_does(beacon: Beacon) -> None:
    durability = Durability(beacon, lambda: True)
    durability.expect(7)
    asked: list[int] = []

    def patient() -> bool:
        asked.append(1)
        if len(asked) == 3:
            beacon.settle(7)
        return True

    durability.wait(patient)
    assert len(asked) == 3
    durability.expect(8)
    durability.wait(lambda: False)
    assert durability.pending
    durability.wait(lambda: True, most_seconds=0.0)
    assert durability.pending
