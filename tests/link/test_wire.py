"""Messages through real sockets: cut anywhere, several at once, with open files."""

from __future__ import annotations

import os
import resource
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.errors import EnvironmentFault, NoAnswer, PeerClosed
from pitstop.link.messages import (
    ArenaOffer,
    EventReport,
    Finish,
    Finished,
    Hello,
    ImageAnswer,
    MalformedMessage,
    Message,
    Persist,
    SnapshotReport,
    StatusAnswer,
    TrainerPid,
    Welcome,
)
from pitstop.link.settings import Settings
from pitstop.link.wire import Connection, Received, pair
from tests.messages import body_of
from tests.strategies import JSON_VALUES

EVENTS = st.builds(
    lambda fields: EventReport({**fields, "kind": "any"}),
    st.dictionaries(st.text(max_size=6), JSON_VALUES, max_size=3),
)
MESSAGES = st.lists(EVENTS | st.builds(Persist, st.text(max_size=9)), min_size=1, max_size=4)


def event(**fields: Any) -> EventReport:
    return EventReport({"kind": "any", **fields})


@pytest.fixture
def ends() -> Iterator[tuple[Connection, Connection]]:
    left, right = pair()
    yield left, right
    left.close()
    right.close()


def frame(message: Message) -> bytes:
    """What `send` puts on the wire."""
    left, right = pair()
    left.send(message)
    left.close()
    data = b"".join(iter(lambda: right.socket.recv(1 << 16), b""))
    right.close()
    return data


def file_of(text: str, folder: Path) -> int:
    path = folder / text
    path.write_text(text)
    return os.open(path, os.O_RDONLY)


def content(fd: int) -> str:
    with os.fdopen(fd) as file:
        return file.read()


def open_descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def test_a_message_arrives_as_it_was_sent(ends: tuple[Connection, Connection]) -> None:
    left, right = ends
    snapshot = SnapshotReport(4, 7, 0, "cadence", durable=False)
    left.send(snapshot)
    assert right.receive() == Received(snapshot)
    right.send(Finish())
    assert left.receive().message == Finish()


def test_a_frame_may_be_cut_at_every_byte() -> None:
    sent = event(message="ä")
    data = frame(sent)
    for at in range(1, len(data)):
        left, right = pair()
        left.socket.sendall(data[:at])
        assert right.receive_ready() == []
        left.socket.sendall(data[at:])
        (received,) = right.receive_ready()
        assert received.message == sent
        left.close()
        right.close()


@given(MESSAGES, st.data())
def test_any_messages_survive_any_cuts(messages: list[Message], data: st.DataObject) -> None:
    stream = b"".join(frame(message) for message in messages)
    cuts = sorted(data.draw(st.lists(st.integers(1, len(stream)), max_size=4)))
    left, right = pair()
    received = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        if start < end:
            left.socket.sendall(stream[start:end])
            received += right.receive_ready()
    assert [each.message for each in received] == messages
    left.close()
    right.close()


def test_messages_of_one_read_come_in_order(ends: tuple[Connection, Connection]) -> None:
    left, right = ends
    sent = [TrainerPid(pid) for pid in range(3)]
    for message in sent:
        left.send(message)
    assert [each.message for each in right.receive_ready()] == sent


def test_descriptors_stay_with_their_frame(
    ends: tuple[Connection, Connection], tmp_path: Path
) -> None:
    left, right = ends
    fds = [file_of(name, tmp_path) for name in ("a", "b", "c")]
    left.send(Finish())
    left.send(ImageAnswer("a"), fds[:2])
    left.send(Finish())
    left.send(ImageAnswer("b"), fds[2:])
    for fd in fds:
        os.close(fd)
    received = [right.receive() for _ in range(4)]
    assert [each.message for each in received] == [
        Finish(),
        ImageAnswer("a"),
        Finish(),
        ImageAnswer("b"),
    ]
    assert [[content(fd) for fd in each.fds] for each in received] == [
        [],
        ["a", "b"],
        [],
        ["c"],
    ]


def test_received_descriptors_are_not_inherited(ends: tuple[Connection, Connection]) -> None:
    left, right = ends
    left.send(ImageAnswer("a"), [left.fileno()])
    (fd,) = right.receive().fds
    assert not os.get_inheritable(fd)
    os.close(fd)


def test_a_message_larger_than_any_buffer(
    ends: tuple[Connection, Connection], tmp_path: Path
) -> None:
    left, right = ends
    fd = file_of("x", tmp_path)
    large = Welcome(1, "run", 1, Settings(altered="y" * (4 << 20)), -1, [])
    sender = threading.Thread(target=left.send, args=(large, [fd]))
    sender.start()
    received = right.receive()
    sender.join()
    os.close(fd)
    assert received.message == large
    assert [content(fd) for fd in received.fds] == ["x"]


def test_threads_do_not_mix_their_frames(ends: tuple[Connection, Connection]) -> None:
    left, right = ends
    text = "z" * 50_000

    def send_many(sender: int) -> None:
        for number in range(20):
            left.send(event(sender=sender, number=number, text=text))

    threads = [threading.Thread(target=send_many, args=(sender,)) for sender in range(3)]
    for thread in threads:
        thread.start()
    received = [body_of(right.receive())["event"] for _ in range(60)]
    for thread in threads:
        thread.join()
    for sender in range(3):
        assert [b["number"] for b in received if b["sender"] == sender] == list(range(20))
    assert {body["text"] for body in received} == {text}


def test_an_end_that_closed_is_told(ends: tuple[Connection, Connection]) -> None:
    left, right = ends
    left.send(Finish())
    left.close()
    assert right.receive().message == Finish()
    with pytest.raises(PeerClosed):
        right.receive()
    with pytest.raises(PeerClosed):
        right.send(Finished())


def test_half_a_message_is_no_message(ends: tuple[Connection, Connection]) -> None:
    left, right = ends
    left.socket.sendall(frame(event())[:-1])
    left.close()
    with pytest.raises(PeerClosed):
        right.receive()


def test_an_end_that_died_with_words_unread_is_told(ends: tuple[Connection, Connection]) -> None:
    left, right = ends
    right.send(Finished())
    left.close()  # the kernel resets the connection
    with pytest.raises(PeerClosed):
        right.receive()


def test_closing_closes_descriptors_of_a_frame_that_never_became_whole(
    ends: tuple[Connection, Connection], tmp_path: Path
) -> None:
    left, right = ends
    fd = file_of("a", tmp_path)
    data = frame(ArenaOffer(1))
    socket.send_fds(left.socket, [data[:-1]], [fd])
    before = open_descriptors()
    assert right.receive_ready() == []
    assert len(open_descriptors() - before) == 1
    right.close()
    os.close(fd)
    assert open_descriptors() < before


@pytest.mark.parametrize(
    "text", [b"[1]", b"7", b"null", b"{}", b'{"type":7}', b"\xff", b"{", b"[" * 100_000]
)
def test_what_is_no_message_is_told(ends: tuple[Connection, Connection], text: bytes) -> None:
    left, right = ends
    sender = threading.Thread(
        target=left.socket.sendall, args=(struct.pack("<IB", len(text), 0) + text,)
    )
    sender.start()
    assert isinstance(right.receive().message, MalformedMessage)
    sender.join()


def test_what_comes_around_what_is_no_message_counts(ends: tuple[Connection, Connection]) -> None:
    left, right = ends
    whole = frame(Hello(1, 1))
    left.socket.sendall(whole + struct.pack("<IB", 3, 0) + b"[1]" + whole)
    types = [each.message.type for each in right.receive_ready()]
    assert types == ["hello", "malformed_message", "hello"]


def test_a_length_that_no_message_has_ends_the_conversation(
    ends: tuple[Connection, Connection],
) -> None:
    left, right = ends
    left.socket.sendall(struct.pack("<IB", 0xFFFFFFFF, 0))
    with pytest.raises(PeerClosed):
        right.receive_ready()


def test_half_a_character_is_replaced(ends: tuple[Connection, Connection]) -> None:
    left, right = ends
    left.send(event(file="caf\udce9.py"))
    assert right.receive().message == event(file="caf?.py")


def test_who_takes_no_answer_holds_nobody_up(ends: tuple[Connection, Connection]) -> None:
    left, right = ends
    left.socket.settimeout(0.05)
    with pytest.raises(PeerClosed):
        left.send(StatusAnswer({"text": "x" * (1 << 22)}))
    with pytest.raises(PeerClosed):
        left.receive_ready()
    right.close()


def test_files_that_this_process_may_not_open_are_told_as_lost(
    ends: tuple[Connection, Connection],
) -> None:
    left, right = ends
    left.send(ImageAnswer("a"), [left.fileno(), right.fileno()])
    first_free = os.dup(0)
    os.close(first_free)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (first_free + 1, hard))
    try:
        with pytest.raises(EnvironmentFault, match="too many open files"):
            right.receive()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(PeerClosed, match="No process listens on"):
        Connection.connect(str(tmp_path / "socket"))
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "socket"))
    with pytest.raises(PeerClosed, match="refused"):
        Connection.connect(str(tmp_path / "socket"))
    left.close()


def test_connecting_to_a_listener(tmp_path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "socket"))
    listener.listen()
    client = Connection.connect(str(tmp_path / "socket"))
    server = Connection(listener.accept()[0])
    client.send(Hello(1, 7))
    assert server.receive().message == Hello(1, 7, argv=[])
    assert server.socket.gettimeout() is None
    for end in (client, server, listener):
        end.close()


def test_who_finds_the_queue_full_waits_for_its_turn(tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(0)
    first = Connection.connect(path)
    with pytest.raises(NoAnswer, match="accepts no connections"):
        Connection.connect(path, 0.05)

    def let_one_in() -> None:
        accepted, _ = listener.accept()
        accepted.close()

    accepting = threading.Timer(0.1, let_one_in)
    accepting.start()
    second = Connection.connect(path, 30.0)
    accepting.join()
    for end in (first, second, listener):
        end.close()
