"""The leader of the members that train together: one gang after the other."""

from __future__ import annotations

import itertools

from pitstop.cluster.gang import GangLeader, LeaderProgress
from pitstop.cluster.messages import (
    Commit,
    GangOver,
    GangReady,
    Hold,
    HoldAnswer,
    LevelReport,
    MemberDown,
    Muster,
    ResumeAnswer,
    SavedReport,
    Settled,
    SnapshotOrder,
)
from pitstop.cluster.spec import Task
from pitstop.cluster.stop_agreement import HOLDS

W0, W1 = Task("worker", 0), Task("worker", 1)
BOTH = frozenset({W0, W1})
REASON = "worker 1: SIGTERM"
TRAINS = LeaderProgress(entering=11, trains=True, step_seconds=0.1)


def new_leader() -> GangLeader:
    numbers = itertools.count(1)
    return GangLeader(BOTH, W0, lambda: f"g{next(numbers)}")


def formed(leader: GangLeader, attempt: int = 1) -> str:
    """Has both members begin anew; the name of their gang."""
    leader.hear(W0, Muster(attempt, gangs=["g1"]))
    [(_, proposal), _] = leader.hear(W1, Muster(attempt, gangs=["g1"]))
    number = getattr(proposal, "proposal", 0)
    leader.hear(W0, ResumeAnswer(number, verified=True))
    [(_, ready), _] = leader.hear(W1, ResumeAnswer(number, verified=True))
    assert isinstance(ready, GangReady)
    return ready.gang


def test_a_stop_is_asked_for_once() -> None:
    leader = new_leader()
    assert leader.ask_stop(REASON, TRAINS) == []
    formed(leader)
    assert leader.ask_stop(REASON, TRAINS) == [(W0, Hold(1, 12, REASON)), (W1, Hold(1, 12, REASON))]
    assert leader.ask_stop("again", TRAINS) == []
    leader.hear(W0, HoldAnswer(1, HOLDS, 12))
    assert leader.stop_step is None
    assert leader.hear(W1, HoldAnswer(1, HOLDS, 12)) == [(W0, Commit(12)), (W1, Commit(12))]
    assert leader.stop_step == 12


def test_an_order_is_said_again() -> None:
    leader = new_leader()
    formed(leader)
    orders = leader.ask_stop(REASON, TRAINS)
    assert leader.tick(100.0, TRAINS) == orders
    assert leader.tick(100.5, TRAINS) == []
    assert leader.tick(101.0, TRAINS) == orders


def test_the_loss_of_a_member_ends_the_gang_and_another_one_follows() -> None:
    leader = new_leader()
    gang = formed(leader)
    over = GangOver(gang, "worker 1", "its process was ended by SIGKILL")
    assert leader.hear(W1, MemberDown(1, over.reason)) == [(W0, over), (W1, over)]
    assert leader.hear(W0, MemberDown(1, "its process returned 1")) == [(W0, over)]
    assert leader.hear(W0, Muster(1)) == []
    assert formed(leader, attempt=2) != gang


def test_a_loss_behind_the_agreement_changes_nothing() -> None:
    leader = new_leader()
    formed(leader)
    leader.ask_stop(REASON, TRAINS)
    for task in (W0, W1):
        leader.hear(task, HoldAnswer(1, HOLDS, 12))
    assert leader.lost(W1, "silent") == []
    assert leader.stop_step == 12


def test_a_member_that_begins_again_was_lost() -> None:
    leader = new_leader()
    gang = formed(leader)
    [(told, over), (itself, _)] = leader.hear(W1, Muster(2, gangs=["g1"]))
    assert (told, itself, type(over)) == (W0, W1, GangOver)
    assert getattr(over, "gang", "") == gang


def test_snapshots_are_announced_for_all() -> None:
    leader = new_leader()
    formed(leader)
    assert leader.tick(100.0, LeaderProgress(1, trains=False)) == []
    assert leader.tick(100.0, TRAINS) == []
    [(_, order), (_, same)] = leader.tick(103.0, TRAINS)
    assert order == same == SnapshotOrder(15)
    assert leader.tick(104.0, TRAINS) == []
    slow = LeaderProgress(20, trains=True, step_seconds=0.1, save_seconds=1.0)
    assert leader.tick(113.0, slow) != []
    assert leader.tick(160.0, slow) == []


def test_a_state_is_settled_when_all_have_it() -> None:
    leader = new_leader()
    formed(leader)
    assert leader.hear(W0, SavedReport("g1:0:15:")) == []
    assert leader.hear(W0, SavedReport("g1:0:15:")) == []
    settled = Settled("g1:0:15:")
    assert leader.hear(W1, SavedReport("g1:0:15:")) == [(W0, settled), (W1, settled)]


def test_the_level_of_one_is_that_of_all() -> None:
    leader = new_leader()
    formed(leader)
    told = leader.hear(W1, LevelReport("the script sets no seed"))
    assert told == [(W0, LevelReport("worker 1: the script sets no seed"))]
