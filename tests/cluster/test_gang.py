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
    SaveProposal,
    Settled,
    SnapshotOrder,
)
from pitstop.cluster.spec import Task
from pitstop.cluster.stop_agreement import CONFIRMS, HOLDS, ON_ITS_WAY

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
    assert leader.ask_stop(REASON, TRAINS) == [(W0, Hold(1, 11, REASON)), (W1, Hold(1, 11, REASON))]
    assert leader.ask_stop("again", TRAINS) == []
    leader.hear(W0, HoldAnswer(1, HOLDS, 11))
    assert leader.stop_step is None
    assert leader.hear(W1, HoldAnswer(1, HOLDS, 11)) == [(W0, Commit(11)), (W1, Commit(11))]
    assert leader.stop_step == 11


def test_an_order_is_said_again_to_those_who_have_not_answered() -> None:
    leader = new_leader()
    formed(leader)
    orders = leader.ask_stop(REASON, TRAINS)
    assert leader.tick(100.0, TRAINS) == []
    assert leader.tick(100.02, TRAINS) == []
    assert leader.tick(100.04, TRAINS) == orders
    leader.hear(W0, HoldAnswer(1, HOLDS, 11))
    assert leader.tick(100.05, TRAINS) == []
    assert leader.tick(100.11, TRAINS) == [(W1, Hold(1, 11, REASON))]
    leader.hear(W1, HoldAnswer(1, ON_ITS_WAY, 11))
    assert leader.tick(100.3, TRAINS) == [(W1, Hold(1, 11, REASON))]


def test_an_order_is_said_again_less_and_less_often_while_nobody_answers() -> None:
    """Else the answers of many members on busy processors come behind ever more orders."""
    leader = new_leader()
    formed(leader)
    orders = leader.ask_stop(REASON, TRAINS)
    ticks = [tick for tick in range(2000) if leader.tick(100 + tick / 100, TRAINS) == orders]
    pauses = [after - before for before, after in itertools.pairwise(ticks)]
    assert pauses == sorted(pauses)
    assert len(ticks) < 25
    assert set(pauses[6:]) == {100}
    leader.hear(W0, HoldAnswer(1, HOLDS, 11))
    agreed = leader.hear(W1, HoldAnswer(1, HOLDS, 11))
    leader.tick(200.0, TRAINS)
    assert leader.tick(200.04, TRAINS) == agreed


def test_a_commit_is_said_again_until_it_is_confirmed() -> None:
    leader = new_leader()
    formed(leader)
    leader.ask_stop(REASON, TRAINS)
    leader.hear(W0, HoldAnswer(1, HOLDS, 11))
    leader.hear(W1, HoldAnswer(1, HOLDS, 11))
    leader.hear(W0, HoldAnswer(0, CONFIRMS, 11))
    leader.tick(100.0, TRAINS)
    assert leader.tick(100.1, TRAINS) == [(W1, Commit(11))]
    leader.hear(W1, HoldAnswer(0, CONFIRMS, 11))
    assert leader.tick(100.2, TRAINS) == []


def test_a_proposal_is_said_again_less_and_less_often_to_those_who_have_not_answered() -> None:
    leader, idle = new_leader(), LeaderProgress(0, trains=False)
    leader.hear(W0, Muster(1))
    [(_, proposal), (_, same)] = leader.hear(W1, Muster(1))
    leader.hear(W0, ResumeAnswer(1, verified=True))
    assert leader.hear(W0, Muster(1)) == []
    said = [tenth for tenth in range(60) if leader.tick(tenth / 10 + 0.001, idle) == [(W1, same)]]
    pauses = [later - sooner for sooner, later in itertools.pairwise(said)]
    assert proposal == same
    assert pauses == sorted(pauses)
    assert (said[0], pauses[-1]) == (1, 10)
    assert len(leader.hear(W1, ResumeAnswer(1, verified=True))) == 2
    assert leader.tick(9.0, idle) == []


def test_orders_to_thousands_are_not_said_again_before_they_can_have_answered() -> None:
    tasks = [Task("worker", index) for index in range(4000)]
    leader = GangLeader(frozenset(tasks), W0, lambda: "g1")
    for message in (Muster(1), ResumeAnswer(1, verified=True)):
        for task in tasks:
            leader.hear(task, message)
    leader.ask_stop(REASON, TRAINS)
    leader.tick(100.0, TRAINS)
    assert leader.tick(100.1, TRAINS) == []
    for task in tasks[1:]:
        leader.hear(task, HoldAnswer(1, HOLDS, 11))
    assert leader.tick(100.15, TRAINS) == [(W0, Hold(1, 11, REASON))]


def test_the_loss_of_a_member_ends_the_gang_and_another_one_follows() -> None:
    leader = new_leader()
    gang = formed(leader)
    over = GangOver(gang, "worker 1", "its process was killed by SIGKILL")
    assert leader.hear(W1, MemberDown(1, over.reason)) == [(W0, over), (W1, over)]
    assert leader.hear(W0, MemberDown(1, "its process returned 1")) == [(W0, over)]
    # It may not have heard of the end, and would wait for ever.
    assert leader.hear(W0, Muster(1)) == [(W0, over)]
    assert formed(leader, attempt=2) != gang


def test_a_loss_behind_the_agreement_changes_nothing() -> None:
    leader = new_leader()
    formed(leader)
    leader.ask_stop(REASON, TRAINS)
    for task in (W0, W1):
        leader.hear(task, HoldAnswer(1, HOLDS, 11))
    assert leader.lost(W1, "silent") == []
    assert leader.stop_step == 11


def test_a_member_that_begins_again_was_lost() -> None:
    leader = new_leader()
    gang = formed(leader)
    [(told, over), (itself, _)] = leader.hear(W1, Muster(2, gangs=["g1"]))
    assert (told, itself, type(over)) == (W0, W1, GangOver)
    assert getattr(over, "gang", "") == gang


def settle(leader: GangLeader, mark: str) -> None:
    for task in (W0, W1):
        leader.hear(task, SavedReport(mark))


def test_snapshots_are_announced_for_all() -> None:
    leader = new_leader()
    gang = formed(leader)
    assert leader.tick(100.0, LeaderProgress(1, trains=False)) == []
    assert leader.tick(100.0, TRAINS) == []
    [(_, order), (_, same)] = leader.tick(103.0, TRAINS)
    assert order == same == SnapshotOrder(15)
    assert leader.tick(104.0, TRAINS) == []
    settle(leader, f"{gang}:0:15:")
    slow = LeaderProgress(20, trains=True, step_seconds=0.1, save_seconds=1.0)
    assert leader.tick(113.0, slow) != []
    settle(leader, f"{gang}:0:24:")
    assert leader.tick(160.0, slow) == []


def test_a_snapshot_that_one_has_missed_is_agreed_on_the_next_time() -> None:
    leader = new_leader()
    gang = formed(leader)
    leader.tick(100.0, TRAINS)
    [(_, order), _] = leader.tick(103.0, TRAINS)
    assert order == SnapshotOrder(15)
    # An epoch may end before the step does.
    assert leader.tick(109.0, LeaderProgress(15, trains=True)) == []
    leader.hear(W0, SavedReport(f"{gang}:0:15:"))
    assert leader.tick(110.9, LeaderProgress(16, trains=True)) == []
    hold = Hold(1, 17, "", saves=True)
    assert (W1, hold) in leader.tick(111.1, LeaderProgress(17, trains=True))


def test_a_state_is_settled_when_all_have_it() -> None:
    leader = new_leader()
    formed(leader)
    assert leader.hear(W0, SavedReport("g1:0:15:")) == []
    assert leader.hear(W0, SavedReport("g1:0:15:")) == []
    settled = Settled("g1:0:15:")
    assert leader.hear(W1, SavedReport("g1:0:15:")) == [(W0, settled), (W1, settled)]


def hold_all(leader: GangLeader, step: int, rounds: int = 1) -> list[Commit]:
    """Has both members hold; what they are told then."""
    leader.hear(W0, HoldAnswer(rounds, HOLDS, step))
    return [order for _, order in leader.hear(W1, HoldAnswer(rounds, HOLDS, step))]  # type: ignore[misc]


def test_a_save_is_agreed_on_like_a_stop_and_all_go_on() -> None:
    leader = new_leader()
    gang = formed(leader)
    leader.tick(100.0, TRAINS)
    hold = Hold(1, 11, "", saves=True, name="good")
    assert leader.hear(W1, SaveProposal("good")) == [(W0, hold), (W1, hold)]
    assert leader.hear(W0, SaveProposal()) == [(W0, hold), (W1, hold)]
    assert hold_all(leader, 11) == [Commit(11), Commit(11)]
    assert leader.stop_step is None
    leader.tick(101.0, TRAINS)
    assert leader.tick(102.0, TRAINS) == [(W0, Commit(11)), (W1, Commit(11))]
    for task in (W0, W1):
        leader.hear(task, SavedReport(f"{gang}:0:11:"))
    assert Commit(11) not in [order for _, order in leader.tick(103.0, TRAINS)]
    assert leader.ask_stop(REASON, TRAINS) == [(W0, Hold(1, 11, REASON)), (W1, Hold(1, 11, REASON))]


def test_a_stop_takes_the_place_of_a_save_that_is_not_agreed_yet() -> None:
    leader = new_leader()
    formed(leader)
    leader.tick(100.0, TRAINS)
    leader.hear(W0, SaveProposal())
    stop = Hold(1, 11, REASON)
    assert leader.ask_stop(REASON, LeaderProgress(30, trains=True)) == [(W0, stop), (W1, stop)]
    assert hold_all(leader, 11) == [Commit(11), Commit(11)]
    assert leader.stop_step == 11


def test_a_stop_behind_a_save_has_a_step_and_a_round_of_its_own() -> None:
    leader = new_leader()
    formed(leader)
    leader.tick(100.0, TRAINS)
    leader.hear(W0, SaveProposal())
    hold_all(leader, 11)
    later = LeaderProgress(14, trains=True)
    assert leader.ask_stop(REASON, later) == [(W0, Hold(2, 14, REASON)), (W1, Hold(2, 14, REASON))]
    assert leader.hear(W0, HoldAnswer(1, HOLDS, 11)) == []
    assert hold_all(leader, 14, rounds=2) == [Commit(14), Commit(14)]
    assert leader.stop_step == 14


def test_a_save_that_failed_for_one_does_not_hold_up_the_next_snapshots() -> None:
    leader = new_leader()
    gang = formed(leader)
    leader.tick(100.0, TRAINS)
    leader.hear(W0, SaveProposal())
    hold_all(leader, 11)
    leader.hear(W0, SavedReport(f"{gang}:0:11:"))
    assert SnapshotOrder(15) in [order for _, order in leader.tick(103.0, TRAINS)]


def test_a_loss_behind_an_agreed_save_ends_the_gang() -> None:
    leader = new_leader()
    gang = formed(leader)
    leader.tick(100.0, TRAINS)
    leader.hear(W0, SaveProposal())
    hold_all(leader, 11)
    assert leader.lost(W1, "silent")[0] == (W0, GangOver(gang, "worker 1", "silent"))


def test_the_level_of_one_is_that_of_all() -> None:
    leader = new_leader()
    formed(leader)
    told = leader.hear(W1, LevelReport("the script sets no seed"))
    assert told == [(W0, LevelReport("worker 1: the script sets no seed"))]
    assert leader.hear(W0, LevelReport("the script sets no seed")) == []
    leader.lost(W1, "silent")
    formed(leader, attempt=2)
    assert len(leader.hear(W0, LevelReport("again"))) == 1


def test_a_task_that_does_not_train_has_no_part_in_a_gang() -> None:
    leader = new_leader()
    evaluator = Task("evaluator", 0)
    assert leader.hear(evaluator, Muster(1, ["g0-9:0:5:"], ["exact"])) == []
    assert formed(leader) == "g1"
    assert leader.hear(evaluator, Muster(1)) == []
