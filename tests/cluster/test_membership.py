"""The parts of a leader and of a member, with what the network brings played to them."""

from __future__ import annotations

import functools
import os
import resource
import time
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from pitstop.cluster.cluster_link import LEASE_VARIABLE, LINGER_VARIABLE, ClusterLink
from pitstop.cluster.leading import Following, GangLeading, LeaderReply, Leading
from pitstop.cluster.messages import (
    PROTOCOL,
    Beat,
    CheckpointReply,
    CheckpointRequest,
    EndReport,
    JoinRequest,
    Release,
    RowsRequest,
    StopProposal,
    TaskRow,
)
from pitstop.cluster.network_thread import (
    Happening,
    Heard,
    LeaderServer,
    MemberClient,
    NetworkThread,
    Parted,
    Trouble,
)
from pitstop.cluster.secret import VARIABLE
from pitstop.cluster.spec import ClusterSpec, Task
from pitstop.events import (
    Event,
    LeaderFound,
    MemberEnded,
    MemberJoined,
    MemberReleased,
    MemberRestarted,
    Notice,
    StopRequested,
)
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.link.messages import CheckpointAnswer, ClientRequest, Message, Refusal

CHIEF, WORKER, PS = Task("chief", 0), Task("worker", 0), Task("ps", 0)
SHAPE = {"chief": 1, "ps": 1, "worker": 1}
SPEC = ClusterSpec.from_json({kind: [f"127.0.0.1:{7000 + i}"] for i, kind in enumerate(SHAPE)})
BEAT = Beat("running", "train", 3)
SERVING = Beat("running", "server", serves=True)


class PlayedNetwork:
    """Says what the test puts in, and keeps what is sent; always readable."""

    def __init__(self) -> None:
        self.coming: deque[Happening] = deque()
        self.sent: list[Message] = []
        self.sent_to: list[Task] = []
        self._always_readable = os.open("/dev/zero", os.O_RDONLY)

    def take(self) -> tuple[Happening, ...]:
        taken = tuple(self.coming)
        self.coming.clear()
        return taken

    def fileno(self) -> int:
        return self._always_readable

    def close(self) -> None:
        os.close(self._always_readable)

    def flush(self) -> None: ...

    def send(self, task: Task, message: Message) -> None:
        self.sent_to.append(task)
        self.sent.append(message)


@pytest.fixture
def network() -> Iterator[PlayedNetwork]:
    with closing(PlayedNetwork()) as played:
        yield played


def leading(network: PlayedNetwork, lease_seconds: float = 10.0) -> Leading:
    server = cast(LeaderServer, network)
    return Leading(server, lease_seconds, GangLeading(server, SPEC, CHIEF))


def following(network: PlayedNetwork, lease_seconds: float = 10.0) -> Following:
    return Following(CHIEF, cast(MemberClient, network), lease_seconds)


def join(network: PlayedNetwork, leader: Leading, *tasks: Task) -> None:
    for task in tasks:
        request = JoinRequest(PROTOCOL, str(task), SHAPE, "1", "host", 7)
        network.coming += [Heard(task, request), Heard(task, SERVING)]
        assert leader.heard() == (MemberJoined(str(task), "host", 7),)


def test_a_member_gets_a_row_of_each_task_from_its_leader(network: PlayedNetwork) -> None:
    leader = leading(network)
    join(network, leader, WORKER, PS)
    leader.tick(BEAT)
    network.sent.clear()
    network.coming.append(Heard(WORKER, RowsRequest()))
    assert leader.heard() == ()
    rows = [each for each in network.sent if isinstance(each, TaskRow)]
    assert [(row.task, row.state, row.phase, row.step, row.more) for row in rows] == [
        ("chief 0", "running", "train", 3, 2),
        ("ps 0", "running", "server", None, 1),
        ("worker 0", "running", "server", None, 0),
    ]
    member = following(network)
    assert [(row.task, row.state) for row in member.rows] == [("chief 0", "no_answer")]
    network.coming += [Heard(CHIEF, BEAT), *(Heard(CHIEF, row) for row in rows[:2])]
    member.heard()
    assert member.rows == ()
    network.coming.append(Heard(CHIEF, rows[2]))
    assert member.heard() == ()
    assert member.rows == tuple(rows)


def test_rows_that_a_lost_connection_cut_off_are_no_part_of_later_ones(
    network: PlayedNetwork,
) -> None:
    member = following(network)
    rest = TaskRow("chief 0", "host", "running", "train", 4)
    cut_off = (Heard(CHIEF, BEAT), Heard(CHIEF, replace(rest, more=1)), Parted(CHIEF))
    network.coming += [*cut_off, Heard(CHIEF, BEAT), Heard(CHIEF, rest)]
    member.heard()
    assert member.rows == (rest,)


def test_a_checkpoint_that_a_member_is_asked_for_is_saved_by_its_leader(
    network: PlayedNetwork,
) -> None:
    leader = leading(network)
    join(network, leader, WORKER)
    network.coming.append(Heard(WORKER, CheckpointRequest(3, "best")))
    assert leader.heard() == ()
    [request] = leader.handed_on
    assert request.asked.name == "best"
    saved = CheckpointReply(3, "00000007", 7)
    request.tell(CheckpointAnswer("00000007", 7))
    assert (network.sent_to[-1], network.sent[-1]) == (WORKER, saved)
    refused = CheckpointReply(3, refusal="no.")
    request.tell(Refusal("no."))
    assert network.sent[-1] == refused
    member = following(network)
    network.coming += [Heard(CHIEF, BEAT), Heard(CHIEF, saved), Heard(CHIEF, refused)]
    network.coming.append(Parted(CHIEF))
    member.heard()
    assert list(member.handed_on) == [
        LeaderReply(3, CheckpointAnswer("00000007", 7, by="chief 0")),
        LeaderReply(3, Refusal("chief 0: no.")),
        LeaderReply(0, Refusal("The connection to chief 0 was closed.")),
    ]


def test_each_request_that_is_handed_on_has_a_number_of_its_own(network: PlayedNetwork) -> None:
    member = following(network)
    assert [member.ask_checkpoint(name) for name in ("", "")] == [1, 2]
    assert network.sent == [CheckpointRequest(1), CheckpointRequest(2)]


def test_a_member_may_hand_on_nothing_else(network: PlayedNetwork) -> None:
    leader = leading(network)
    join(network, leader, WORKER)
    network.coming.append(Heard(WORKER, ClientRequest("stop", now=True)))
    assert leader.heard() == ()
    assert not leader.handed_on


def test_a_leader_hears_who_joins_asks_and_ends(network: PlayedNetwork) -> None:
    leader = leading(network)
    join(network, leader, WORKER, PS)
    network.coming += [
        Heard(WORKER, StopProposal("Ctrl-C")),
        Heard(PS, StopProposal("Ctrl-C", now=True)),
        Heard(PS, EndReport("failed", 3)),
        Trouble("somebody was refused"),
    ]
    graceful, now, ended, trouble = leader.heard()
    assert graceful == StopRequested("cluster", "graceful", reason="worker 0: Ctrl-C")
    assert now == StopRequested("cluster", "now", reason="ps 0: Ctrl-C")
    assert ended == MemberEnded("ps 0", "host", "failed", 3)
    assert isinstance(trouble, Notice)
    assert [member.task for member in leader.members] == [PS, WORKER]


def test_a_leader_beats_at_once_for_who_has_just_joined(network: PlayedNetwork) -> None:
    leader = leading(network)
    join(network, leader, WORKER)
    assert leader.tick(BEAT) == ()
    assert (network.sent, network.sent_to) == ([BEAT], [WORKER])
    assert leader.tick(BEAT) == ()
    assert network.sent == [BEAT]
    join(network, leader, PS)
    assert leader.tick(BEAT) == ()
    assert network.sent_to == [WORKER, PS]


def test_a_member_that_goes_silent_is_lost(network: PlayedNetwork) -> None:
    leader = leading(network, lease_seconds=0.0)
    join(network, leader, WORKER)
    assert leader.tick(BEAT) == (MemberEnded("worker 0", "host", "lost"),)
    assert leader.tick(BEAT) == ()


def test_a_server_that_begins_again_is_told_of(network: PlayedNetwork) -> None:
    leader = leading(network)
    join(network, leader, PS, WORKER)
    starting = Beat("starting", "starting")
    network.coming += [Heard(PS, SERVING), Heard(PS, starting), Heard(PS, starting)]
    assert leader.heard() == (MemberRestarted("ps 0", "host"),)
    network.coming += [Heard(PS, SERVING), Heard(WORKER, Beat("stopping", "server", serves=True))]
    assert leader.heard() == ()


def test_a_parameter_server_is_no_worker_whatever_it_does(network: PlayedNetwork) -> None:
    leader = leading(network)
    join(network, leader, PS)
    network.coming += [Heard(PS, Beat("running", "member"))]
    leader.heard()
    assert not leader.has_workers
    join(network, leader, WORKER)
    network.coming += [Heard(WORKER, Beat("running", "member"))]
    leader.heard()
    assert leader.has_workers


def test_a_leader_waits_for_its_members_in_order(network: PlayedNetwork) -> None:
    leader = leading(network)
    join(network, leader, WORKER, PS)
    end = Release("completed", 0, "it is over")
    told = played_ends(network, leader, end)
    assert [each.task for each in told if isinstance(each, MemberEnded)] == ["worker 0", "ps 0"]
    assert [each for each in network.sent if isinstance(each, Release)] == [end, end]


def test_a_leader_that_ends_at_once_waits_for_members_that_look_for_it(
    network: PlayedNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would never hear of the end, and wait for a leader."""
    leader = leading(network)
    assert leader.has_members
    monkeypatch.setattr(time, "monotonic", functools.partial(float, time.monotonic() + 2.0))
    assert not leader.has_members


def played_ends(network: PlayedNetwork, leader: Leading, end: Release) -> list[Event]:
    """All that the leader tells while each member ends as soon as it is released."""
    told: list[Event] = []
    answered = 0
    while leader.has_members:
        leader.end(end)
        told += leader.heard()
        sent = zip(network.sent_to, network.sent, strict=True)
        released = [task for task, message in sent if message == end]
        network.coming += [Heard(task, EndReport("completed", 0)) for task in released[answered:]]
        answered = len(released)
    return told


def test_a_member_follows_its_leader_to_the_end(network: PlayedNetwork) -> None:
    member = following(network)
    assert member.tick(BEAT) == ()
    assert network.sent == []
    network.coming += [Heard(CHIEF, BEAT), Heard(CHIEF, BEAT)]
    assert member.heard() == (LeaderFound("chief 0"),)
    assert member.connected
    assert member.tick(SERVING) == ()
    assert network.sent == [SERVING]
    member.propose_stop("Ctrl-C")
    assert network.sent == [SERVING, StopProposal("Ctrl-C")]
    network.coming.append(Heard(CHIEF, Release("stopped", 75, "Ctrl-C")))
    assert member.heard() == (MemberReleased("chief 0", "stopped", 75, "Ctrl-C"),)
    network.coming.append(Parted(CHIEF))
    assert member.heard() == ()
    member.end(Release("stopped", 75, "Ctrl-C"))
    assert network.sent[2:] == [EndReport("stopped", 75)]


def test_a_member_knows_for_how_long_its_leader_has_completed(network: PlayedNetwork) -> None:
    link = ClusterLink({})
    assert link.over_seconds < 0
    link.part = following(network)
    network.coming.append(Heard(CHIEF, BEAT))
    link.heard()
    assert link.over_seconds < 0
    network.coming += [Heard(CHIEF, Beat("completed", "ended", 3))] * 2
    assert link.heard() == (MemberEnded("chief 0", "", "completed"),)
    first = link.over_seconds
    assert 0 <= first <= link.over_seconds


def test_a_leader_that_was_never_heard_is_waited_for_without_end(network: PlayedNetwork) -> None:
    member = following(network, lease_seconds=0.0)
    assert member.tick(BEAT) == ()
    network.coming.append(Trouble("the leader has a different secret"))
    (trouble,) = member.heard()
    assert isinstance(trouble, Notice)
    assert member.tick(BEAT) == ()


def test_a_leader_that_goes_silent_releases_its_members_once(network: PlayedNetwork) -> None:
    member = following(network, lease_seconds=0.0)
    network.coming.append(Heard(CHIEF, BEAT))
    assert member.heard() == (LeaderFound("chief 0"),)
    (released,) = member.tick(BEAT)
    assert isinstance(released, MemberReleased)
    assert (released.outcome, released.exit_code) == ("lost", EXIT_STOPPED)
    assert member.tick(BEAT) == ()


def test_a_leader_that_leaves_when_it_has_completed_is_not_lost_to_its_servers(
    network: PlayedNetwork,
) -> None:
    member = following(network, lease_seconds=0.0)
    network.coming += [Heard(CHIEF, Beat("completed", "ended", 3)), Parted(CHIEF)]
    member.heard()
    reason = "the connection to chief 0 was closed"
    assert member.tick(SERVING) == (MemberReleased("chief 0", "completed", 0, reason),)


def test_a_leader_that_is_suspended_is_waited_for(network: PlayedNetwork) -> None:
    member = following(network, lease_seconds=0.0)
    network.coming.append(Heard(CHIEF, Beat("suspended", "train")))
    assert member.heard() == (LeaderFound("chief 0"),)
    assert member.tick(BEAT) == ()


def test_a_leader_that_may_not_open_so_many_connections_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    spec = ClusterSpec.from_json({"worker": [f"127.0.0.1:{7000 + i}" for i in range(1000)]})
    link = ClusterLink({VARIABLE: "0123456789abcdef"})
    [notice] = link.join(spec, Task("worker", 0))
    assert "leads 1000 tasks, but may open 1024 files" in notice.message
    assert notice.remedy == "Raise the limit for the leader: `ulimit -n 1200`."
    assert link.part is None


@pytest.mark.parametrize(
    ("address", "variables", "word"),
    [
        ("no port", {}, "no port"),
        ("a:1", {LEASE_VARIABLE: "soon"}, "soon"),
        ("a:1", {LINGER_VARIABLE: "later"}, "later"),
        ("a:1", {}, "home directory"),
    ],
)
def test_a_cluster_that_cannot_be_joined_is_said_once(
    address: str, variables: dict[str, str], word: str
) -> None:
    spec = ClusterSpec.from_json({"chief": [address], "ps": ["a:1"]})
    with closing(ClusterLink(variables)) as link:
        (notice,) = link.join(spec, PS)
        assert isinstance(notice, Notice)
        assert word in notice.message
        assert link.join(spec, PS) == ()
        assert link.heard() == link.tick(BEAT) == ()
        link.end(Release("completed", 0, ""))
        assert not link.is_awaited


def test_a_last_beat_has_gone_out_when_the_process_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gone: list[Message] = []

    def send_late(_: NetworkThread, __: Task, message: Message) -> None:
        time.sleep(0.1)
        gone.append(message)

    monkeypatch.setattr(NetworkThread, "_send", send_late)
    with closing(ClusterLink({"HOME": str(tmp_path)})) as link:
        link.join(SPEC, WORKER)
        link.beat_now(BEAT)
        assert gone == [BEAT]


def test_one_task_alone_is_no_cluster() -> None:
    with closing(ClusterLink({})) as link:
        assert link.join(ClusterSpec.from_json({"worker": ["a:1"]}), WORKER) == ()
        assert link.part is None
