"""Nobody is left: the training stops by itself, and only then."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from pitstop.engine.connection import stacks, supervisor_connection
from pitstop.link.beacon import Beacon, Stop
from pitstop.link.messages import Finish
from pitstop.link.wire import Connection, pair


@pytest.fixture
def ends() -> Iterator[tuple[Connection, Connection]]:
    ours, theirs = pair()
    yield ours, theirs
    ours.close()
    theirs.close()


def watched(
    ends: tuple[Connection, Connection], beacon: Beacon, *, stops: bool = True
) -> tuple[threading.Thread, list[float]]:
    """The supervisor dies under the eyes of the watch."""
    waits: list[float] = []
    thread = supervisor_connection.watch(ends[0], beacon, lambda: stops, waits.append)
    ends[1].send(Finish())
    thread.join(0.05)
    assert thread.is_alive()
    assert waits == []
    ends[1].close()
    thread.join(10)
    assert not thread.is_alive()
    return thread, waits


def test_without_anybody_the_training_stops(ends: tuple[Connection, Connection]) -> None:
    beacon = Beacon.create()
    beacon.pin(7)
    _, waits = watched(ends, beacon)
    assert waits == [supervisor_connection.GRACE_SECONDS]
    assert beacon.stop() == Stop.GRACEFUL
    assert beacon.pinned() == 0


def test_a_persister_that_has_taken_over_keeps_its_pin(
    ends: tuple[Connection, Connection],
) -> None:
    beacon = Beacon.create()
    beacon.pin(7)
    beacon.request_stop(Stop.GRACEFUL)
    watched(ends, beacon)
    assert beacon.pinned() == 7


def test_a_training_of_its_own_goes_on(ends: tuple[Connection, Connection]) -> None:
    beacon = Beacon.create()
    beacon.pin(7)
    watched(ends, beacon, stops=False)
    assert beacon.stop() == Stop.NONE
    assert beacon.pinned() == 0


def test_a_connection_that_the_session_closes_is_still_watched(
    ends: tuple[Connection, Connection],
) -> None:
    beacon = Beacon.create()
    thread = supervisor_connection.watch(ends[0], beacon, wait=lambda _seconds: None)
    ends[0].close()
    thread.join(0.05)
    assert thread.is_alive()
    ends[1].close()
    thread.join(10)
    assert beacon.stop() == Stop.GRACEFUL


def test_the_stacks_are_told_when_the_supervisor_asks(
    ends: tuple[Connection, Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = threading.Event()
    monkeypatch.setattr(stacks, "tell", told.set)
    beacon = Beacon.create()
    thread = supervisor_connection.watch(ends[0], beacon, wait=lambda _seconds: None)
    assert not told.wait(0.1)
    beacon.request_stacks()
    assert told.wait(10)
    ends[1].close()
    thread.join(10)
