"""The leader and its members over a real loopback connection; strangers among them."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from pitstop.cluster import conversation, roster
from pitstop.cluster.messages import PROTOCOL, Beat, EndReport, JoinRequest, Release
from pitstop.cluster.network_thread import (
    Happening,
    Heard,
    LeaderServer,
    MemberClient,
    NetworkThread,
    Parted,
    Trouble,
)
from pitstop.cluster.spec import ClusterSpec, Task

SECRET = b"a secret that all members know"
SPEC = ClusterSpec.from_json({"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]})
CHIEF, WORKER = Task("chief", 0), Task("worker", 0)
REQUEST = JoinRequest(PROTOCOL, str(WORKER), SPEC.counts, "1", "host", 7)
BEAT = Beat("running", "train", 3)
GREETING_BYTES = len(b"pitstop cluster 1\n") + conversation.NONCE_BYTES


@pytest.fixture
def endpoint() -> tuple[str, int]:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        host, port = free.getsockname()
        return host, port


@pytest.fixture
def leader(endpoint: tuple[str, int]) -> Iterator[LeaderServer]:
    with closing(LeaderServer(endpoint, SECRET, lambda each: roster.objection(SPEC, each))) as made:
        made.start()
        until_listening(endpoint)
        yield made


def until_listening(endpoint: tuple[str, int]) -> None:
    give_up_at = time.monotonic() + 20.0
    while time.monotonic() < give_up_at:
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection(endpoint):
            return
    raise TimeoutError


def member(
    endpoint: tuple[str, int], request: JoinRequest = REQUEST, secret: bytes = SECRET
) -> MemberClient:
    client = MemberClient(CHIEF, endpoint, secret, request)
    client.start()
    return client


def heard(thread: NetworkThread, count: int = 1) -> list[Happening]:
    """The next things that are heard there."""
    found: list[Happening] = []
    give_up_at = time.monotonic() + 20.0
    while len(found) < count:
        assert time.monotonic() < give_up_at, f"heard no more than {found}"
        select.select([thread], [], [], 1.0)
        found += thread.take()
    return found


def introduced(
    leader: LeaderServer, endpoint: tuple[str, int], request: JoinRequest = REQUEST
) -> MemberClient:
    client = member(endpoint, request)
    assert heard(leader) == [Heard(Task.parse(request.task), request)]
    leader.send(Task.parse(request.task), BEAT)
    assert heard(client) == [Heard(CHIEF, BEAT)]
    return client


def test_both_sides_hear_what_the_other_says(
    leader: LeaderServer, endpoint: tuple[str, int]
) -> None:
    client = introduced(leader, endpoint)
    client.send(CHIEF, BEAT)
    client.send(CHIEF, EndReport("completed", 0))
    assert heard(leader, 2) == [Heard(WORKER, BEAT), Heard(WORKER, EndReport("completed", 0))]
    leader.send(WORKER, Release("completed", 0, "it is over"))
    assert heard(client) == [Heard(CHIEF, Release("completed", 0, "it is over"))]
    client.close()
    assert heard(leader) == [Parted(WORKER)]


def test_what_a_member_said_before_it_left_is_heard_by_a_leader_that_speaks_first_when_it_wakes(
    leader: LeaderServer, endpoint: tuple[str, int]
) -> None:
    """A suspended leader reads nothing; a write to a socket that was closed ends the connection."""
    client = introduced(leader, endpoint)
    woken = threading.Event()
    leader._call(woken.wait)
    client.send(CHIEF, EndReport("stopped", 75))
    client.close()
    for _ in range(5):
        leader.send(WORKER, BEAT)
    woken.set()
    assert heard(leader, 2) == [Heard(WORKER, EndReport("stopped", 75)), Parted(WORKER)]


def test_a_member_waits_for_a_leader_that_comes_later_and_for_one_that_comes_back(
    endpoint: tuple[str, int],
) -> None:
    with closing(member(endpoint)) as client:
        for _ in range(2):
            server = LeaderServer(endpoint, SECRET, lambda each: roster.objection(SPEC, each))
            with closing(server):
                server.start()
                assert heard(server) == [Heard(WORKER, REQUEST)]
                server.send(WORKER, BEAT)
                assert heard(client) == [Heard(CHIEF, BEAT)]
            assert heard(client) == [Parted(CHIEF)]


def test_another_secret_is_refused_and_said_on_both_sides(
    leader: LeaderServer, endpoint: tuple[str, int]
) -> None:
    with closing(member(endpoint, secret=b"a different secret")) as client:
        (here,), (there,) = heard(leader)[:1], heard(client)[:1]
    assert isinstance(here, Trouble)
    assert "secret" in here.reason
    assert isinstance(there, Trouble)
    assert "a different secret" in there.reason


def test_a_stranger_that_tries_again_and_again_is_told_of_once(
    leader: LeaderServer, endpoint: tuple[str, int]
) -> None:
    for _ in range(3):
        with socket.create_connection(endpoint) as stranger:
            stranger.recv(GREETING_BYTES, socket.MSG_WAITALL)
            stranger.sendall(bytes(conversation.NONCE_BYTES + conversation.PROOF_BYTES))
            assert stranger.recv(1) == b""
    with closing(member(endpoint)):
        first, second = heard(leader, 2)
    assert isinstance(first, Trouble)
    assert second == Heard(WORKER, REQUEST)


def test_a_member_does_not_follow_a_leader_without_the_secret(endpoint: tuple[str, int]) -> None:
    with closing(socket.create_server(endpoint)) as fake, closing(member(endpoint)) as client:
        connection, _ = fake.accept()
        with connection:
            connection.sendall(b"pitstop cluster 1\n" + bytes(conversation.NONCE_BYTES))
            connection.recv(conversation.NONCE_BYTES + conversation.PROOF_BYTES)
            connection.sendall(bytes(conversation.PROOF_BYTES))
            (there,) = heard(client)
    assert isinstance(there, Trouble)


@pytest.mark.parametrize(
    "request_",
    [replace(REQUEST, shape={"worker": 3}), replace(REQUEST, task="chief 0")],
)
def test_a_member_that_does_not_belong_here_is_told_why(
    leader: LeaderServer, endpoint: tuple[str, int], request_: JoinRequest
) -> None:
    with closing(member(endpoint, request_)) as client:
        (here,), (there,) = heard(leader)[:1], heard(client)[:1]
    reason = roster.objection(SPEC, request_)
    assert isinstance(here, Trouble)
    assert reason in here.reason
    assert isinstance(there, Trouble)
    assert reason in there.reason


def test_a_second_process_of_a_task_is_refused(
    leader: LeaderServer, endpoint: tuple[str, int]
) -> None:
    with closing(introduced(leader, endpoint)) as first:
        with closing(member(endpoint)):
            (trouble,) = heard(leader)[:1]
            assert isinstance(trouble, Trouble)
        leader.send(WORKER, BEAT)
        assert heard(first) == [Heard(CHIEF, BEAT)]


def test_strangers_stop_nobody(leader: LeaderServer, endpoint: tuple[str, int]) -> None:
    """They say nothing, say nonsense, repeat what was said before them, or go at once."""
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(closing(introduced(leader, endpoint)))
        strangers = [stack.enter_context(socket.create_connection(endpoint)) for _ in range(40)]
        for number, stranger in enumerate(strangers):
            stranger.recv(GREETING_BYTES, socket.MSG_WAITALL)
            with contextlib.suppress(OSError):
                stranger.sendall([b"", b"GET / HTTP/1.1\r\n" * 20, bytes(64)][number % 3])
            if number % 5 == 0:
                stranger.close()
        client.send(CHIEF, BEAT)
        answers = heard(leader)
        while Heard(WORKER, BEAT) not in answers:
            answers += heard(leader)
        assert not any(isinstance(each, Parted) for each in answers)
        second = stack.enter_context(closing(member(endpoint, replace(REQUEST, task="ps 0"))))
        while not any(isinstance(each, Heard) and each.task.kind == "ps" for each in answers):
            answers += heard(leader)
        assert second.take() == ()


def test_a_frame_that_breaks_the_seal_ends_the_conversation(
    leader: LeaderServer, endpoint: tuple[str, int]
) -> None:
    with socket.create_connection(endpoint) as connection:
        greeting = connection.recv(GREETING_BYTES, socket.MSG_WAITALL)
        there, here = greeting[-conversation.NONCE_BYTES :], bytes(conversation.NONCE_BYTES)
        connection.sendall(here + conversation.proof(SECRET, conversation.MEMBER, there, here))
        sealer = conversation.Sealer(
            conversation.handshake_key(SECRET, there, here), conversation.MEMBER
        )
        first = sealer.frame(REQUEST)
        connection.sendall(first)
        assert heard(leader) == [Heard(WORKER, REQUEST)]
        connection.sendall(first)
        trouble, parted = heard(leader, 2)
    assert isinstance(trouble, Trouble)
    assert parted == Parted(WORKER)


def test_a_port_that_is_taken_is_said(
    endpoint: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pitstop.cluster.network_thread._BIND_SECONDS", 1.0)
    server = LeaderServer(endpoint, SECRET, lambda _: "")
    with closing(socket.create_server(endpoint)), closing(server):
        server.start()
        (trouble,) = heard(server)
    assert isinstance(trouble, Trouble)
    assert str(endpoint[1]) in trouble.reason
