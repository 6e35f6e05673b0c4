"""Whose end came first, where a trainer fails while another supervisor is out of reach."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing
from typing import cast

import pytest

from pitstop.cluster.leading import Following, GangLeading, Leading
from pitstop.cluster.messages import (
    PROTOCOL,
    Beat,
    EndReport,
    GangOver,
    GangReady,
    JoinRequest,
    LevelReport,
    MemberDown,
    Muster,
    ResumeAnswer,
)
from pitstop.cluster.network_thread import Heard, LeaderServer, MemberClient, Parted
from pitstop.cluster.spec import ClusterSpec, Task
from tests.cluster.test_membership import PlayedNetwork

TASKS = tuple(Task("worker", index) for index in range(3))
SPEC = ClusterSpec.from_json({"worker": [f"127.0.0.1:{7000 + index}" for index in range(3)]})


@pytest.fixture
def network() -> Iterator[PlayedNetwork]:
    with closing(PlayedNetwork()) as played:
        yield played


def join_of(task: Task) -> JoinRequest:
    return JoinRequest(PROTOCOL, str(task), SPEC.counts, "1", "host", 7)


def formed(network: PlayedNetwork) -> Leading:
    """A leader whose own trainer and two others have begun together."""
    server = cast(LeaderServer, network)
    leader = Leading(server, 10.0, GangLeading(server, SPEC, TASKS[0]))
    for task in TASKS[1:]:
        network.coming += [Heard(task, join_of(task)), Heard(task, Muster(1))]
        network.coming.append(Heard(task, ResumeAnswer(1, verified=True)))
    leader.heard()
    leader.gang.hear_own(Muster(1))
    for task in TASKS[1:]:
        network.coming.append(Heard(task, ResumeAnswer(1, verified=True)))
    leader.heard()
    leader.gang.hear_own(ResumeAnswer(1, verified=True))
    assert isinstance(leader.gang.orders[-1], GangReady)
    leader.gang.orders.clear()
    network.sent.clear()
    return leader


def over(leader: Leading) -> GangOver:
    [order] = leader.gang.orders
    assert isinstance(order, GangOver)
    return order


def test_who_reports_its_end_first_was_the_first(network: PlayedNetwork) -> None:
    leader = formed(network)
    network.coming.append(Heard(TASKS[1], MemberDown(1, "its process was killed by SIGKILL")))
    network.coming.append(Heard(TASKS[2], MemberDown(1, "its process returned 1")))
    leader.heard()
    assert over(leader).task == "worker 1"
    assert {getattr(order, "task", "") for order in network.sent} == {"worker 1"}


def test_one_that_is_out_of_reach_was_gone_before_those_that_fail_for_it(
    network: PlayedNetwork,
) -> None:
    leader = formed(network)
    network.coming += [Parted(TASKS[2]), Heard(TASKS[1], MemberDown(1, "its process returned 1"))]
    leader.heard()
    assert over(leader).task == "worker 2"


@pytest.mark.parametrize(("silent_seconds", "first"), [(4.0, "worker 2"), (1.0, "worker 1")])
def test_who_fails_beside_a_silent_supervisor_has_failed_for_it(
    network: PlayedNetwork, monkeypatch: pytest.MonkeyPatch, silent_seconds: float, first: str
) -> None:
    """TensorFlow may miss a member that is frozen before its lease is over."""
    leader = formed(network)
    now_seconds = time.monotonic() + silent_seconds
    monkeypatch.setattr(time, "monotonic", lambda: now_seconds)
    network.coming.append(Heard(TASKS[1], Beat("running", "train", 3)))
    leader.heard()
    leader.tick(Beat("running", "train", 3))
    network.coming.append(Heard(TASKS[1], MemberDown(1, "its process returned 1")))
    leader.heard()
    assert over(leader).task == first


def test_one_that_has_come_back_was_not(network: PlayedNetwork) -> None:
    leader = formed(network)
    again = JoinRequest(PROTOCOL, str(TASKS[2]), SPEC.counts, "1", "host", 7)
    network.coming += [Parted(TASKS[2]), Heard(TASKS[2], again)]
    network.coming.append(Heard(TASKS[1], MemberDown(1, "its process returned 1")))
    leader.heard()
    assert over(leader).task == "worker 1"


@pytest.mark.parametrize("beat", [Beat("running", "suspended", 3), Beat("suspended", "train", 3)])
def test_who_fails_beside_a_suspended_member_has_failed_for_it(
    network: PlayedNetwork, beat: Beat
) -> None:
    """Its trainer, or its whole run."""
    leader = formed(network)
    network.coming.append(Heard(TASKS[2], beat))
    network.coming.append(Heard(TASKS[1], MemberDown(1, "its process returned 1")))
    leader.heard()
    assert (over(leader).task, over(leader).reason) == ("worker 2", "its process was suspended")


def test_the_leaders_own_trainer_may_be_the_suspended_one(network: PlayedNetwork) -> None:
    leader = formed(network)
    leader.tick(Beat("running", "suspended", 3))
    network.coming.append(Heard(TASKS[1], MemberDown(1, "its process returned 1")))
    leader.heard()
    assert over(leader).task == "worker 0"


def test_one_that_goes_on_was_not_the_first(network: PlayedNetwork) -> None:
    leader = formed(network)
    for phase in ("suspended", "train"):
        network.coming.append(Heard(TASKS[2], Beat("running", phase, 3)))
    network.coming.append(Heard(TASKS[1], MemberDown(1, "its process returned 1")))
    leader.heard()
    assert over(leader).task == "worker 1"


def test_a_run_that_has_begun_again_as_another_process_was_lost(network: PlayedNetwork) -> None:
    leader = formed(network)
    again = JoinRequest(PROTOCOL, str(TASKS[2]), SPEC.counts, "1", "host", 8)
    network.coming += [Parted(TASKS[2]), Heard(TASKS[2], again)]
    leader.heard()
    assert over(leader).task == "worker 2"


@pytest.mark.parametrize(("state", "gone"), [("failed", "worker 1"), ("completed", "")])
def test_who_has_ended_for_good_is_known(network: PlayedNetwork, state: str, gone: str) -> None:
    leader = formed(network)
    assert leader.gone_for_good(launched=False) == ""
    network.coming.append(Heard(TASKS[1], EndReport(state, 0)))
    leader.heard()
    assert leader.gone_for_good(launched=False) == gone


@pytest.mark.parametrize(
    ("launched", "is_there", "gone"),
    [(True, False, "worker 1"), (True, True, ""), (False, False, "")],
)
def test_a_silent_member_is_gone_for_good_where_nobody_starts_its_killed_run_again(
    network: PlayedNetwork, *, launched: bool, is_there: bool, gone: str
) -> None:
    pid = os.getpid() if is_there else 1 << 22
    server = cast(LeaderServer, network)
    leader = Leading(server, 0.0, GangLeading(server, SPEC, TASKS[0]))
    request = JoinRequest(PROTOCOL, str(TASKS[1]), SPEC.counts, "1", "host", pid)
    network.coming.append(Heard(TASKS[1], request))
    leader.heard()
    leader.tick(Beat("running", "train", 3))
    assert [each.lost for each in leader.members] == [True]
    assert leader.gone_for_good(launched=launched) == gone


def test_a_level_that_was_told_while_a_member_was_out_of_reach_is_told_again(
    network: PlayedNetwork,
) -> None:
    leader = formed(network)
    network.coming.append(Parted(TASKS[2]))
    network.coming.append(Heard(TASKS[1], LevelReport("no seed")))
    leader.heard()
    network.sent.clear()
    network.sent_to.clear()
    network.coming.append(Heard(TASKS[2], join_of(TASKS[2])))
    leader.heard()
    assert network.sent == [LevelReport("worker 1: no seed")]
    assert network.sent_to == [TASKS[2]]


def test_a_member_says_its_level_again_when_it_is_connected_again(network: PlayedNetwork) -> None:
    member = Following(TASKS[0], cast(MemberClient, network), 10.0)
    beat, doubt = Beat("running", "train"), LevelReport("no seed")
    for told, again in ((doubt, [doubt]), (Muster(2), [])):
        network.coming.append(Heard(TASKS[0], beat))
        member.heard()
        member.tell_gang(told)
        network.coming.append(Parted(TASKS[0]))
        member.heard()
        network.sent.clear()
        network.coming.append(Heard(TASKS[0], beat))
        member.heard()
        assert network.sent == again
