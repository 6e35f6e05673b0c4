"""A trainer waits at the end of a step when it is told to, and nowhere else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from pitstop.cluster import stop_agreement
from pitstop.cluster.messages import Hold, HoldAnswer
from pitstop.cluster.stop_agreement import HOLDS, ON_ITS_WAY, PASSED
from pitstop.engine.lockstep import Lockstep
from pitstop.link.beacon import Beacon, Stop

_SECONDS = 20.0


@pytest.fixture
def beacon() -> Iterator[Beacon]:
    with closing(Beacon.create()) as made:
        yield made


def answer_of(beacon: Beacon, step: int) -> HoldAnswer:
    return stop_agreement.answer_to(Hold(1, step, ""), beacon.entering(), beacon.held())


def holding(beacon: Beacon, lockstep: Lockstep, step: int) -> threading.Thread:
    """A trainer that comes to the end of a step, and waits there."""
    trainer = threading.Thread(target=lockstep.ends, args=(step,), daemon=True)
    trainer.start()
    while beacon.held() != step:
        trainer.join(0.01)
    return trainer


def test_only_the_first_boundary_of_a_step_is_its_end(beacon: Beacon) -> None:
    lockstep = Lockstep(beacon, agreed=True, doubt="")
    assert [lockstep.ends(step) for step in (4, 4, 5, 5, 5, 6)] == [1, 0, 1, 0, 0, 1]
    assert beacon.entering() == 7


def test_who_trains_alone_waits_for_nobody(beacon: Beacon) -> None:
    lockstep = Lockstep(beacon, agreed=False, doubt="")
    beacon.hold_from(3)
    assert [lockstep.ends(step) for step in (4, 4)] == [True, True]
    lockstep.raise_stop()
    assert beacon.stop() == Stop.GRACEFUL


def test_the_stop_word_of_members_is_not_their_own_to_raise(beacon: Beacon) -> None:
    Lockstep(beacon, agreed=True, doubt="").raise_stop()
    assert not beacon.stop()


def test_it_holds_until_a_later_step_is_named(beacon: Beacon) -> None:
    lockstep = Lockstep(beacon, agreed=True, doubt="")
    beacon.hold_from(5)
    assert lockstep.ends(4)
    assert answer_of(beacon, 5) == HoldAnswer(1, ON_ITS_WAY, 5)
    trainer = holding(beacon, lockstep, 5)
    assert answer_of(beacon, 5) == HoldAnswer(1, HOLDS, 5)
    beacon.hold_from(6)
    trainer.join(_SECONDS)
    assert not trainer.is_alive()
    assert answer_of(beacon, 6) == HoldAnswer(1, ON_ITS_WAY, 6)


def test_who_had_passed_the_step_holds_at_its_next(beacon: Beacon) -> None:
    lockstep = Lockstep(beacon, agreed=True, doubt="")
    assert lockstep.ends(7)
    beacon.hold_from(5)
    assert answer_of(beacon, 5) == HoldAnswer(1, PASSED, 8)
    trainer = holding(beacon, lockstep, 8)
    assert answer_of(beacon, 5) == HoldAnswer(1, PASSED, 8)
    assert answer_of(beacon, 8) == HoldAnswer(1, HOLDS, 8)
    beacon.request_stop(Stop.GRACEFUL)
    trainer.join(_SECONDS)
    assert not trainer.is_alive()


def test_a_snapshot_is_taken_at_the_step_that_is_named(beacon: Beacon) -> None:
    lockstep = Lockstep(beacon, agreed=True, doubt="")
    assert not lockstep.saves_at(5)
    beacon.snapshot_at(5)
    assert [step for step in range(8) if lockstep.saves_at(step)] == [5]


def test_a_snapshot_is_taken_at_the_end_of_the_call_that_runs_the_step(beacon: Beacon) -> None:
    lockstep = Lockstep(beacon, agreed=True, doubt="")
    beacon.snapshot_at(6)
    ends = [step for step in range(0, 20, 4) if lockstep.ends(step) and lockstep.saves_at(step)]
    assert ends == [8]
