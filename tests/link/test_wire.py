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

from pitstop.errors import EnvironmentFault, PeerClosed
from pitstop.link.wire import Connection, pair
from tests.strategies import JSON_VALUES

BODIES = st.dictionaries(
    st.text(max_size=6).filter(lambda key: key != "type"), JSON_VALUES, max_size=3
)
MESSAGES = st.lists(st.tuples(st.sampled_from(["hello", "event"]), BODIES), min_size=1, max_size=4)


@pytest.fixture
def ends() -> Iterator[tuple[Connection, Connection]]:
    left, right = pair()
    yield left, right
    left.close()
    right.close()


def frame(type_: str, body: dict[str, Any]) -> bytes:
    """What `send` puts on the wire."""
    left, right = pair()
    left.send(type_, body)
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
    left.send("snapshot", {"step": 7, "reason": "cadence"})
    message = right.receive()
    assert (message.type, message.body, message.fds) == (
        "snapshot",
        {"step": 7, "reason": "cadence"},
        (),
    )
    right.send("finish")
    assert left.receive().body == {}


def test_a_frame_may_be_cut_at_every_byte() -> None:
    data = frame("event", {"event": {"kind": "notice", "message": "ä"}})
    for at in range(1, len(data)):
        left, right = pair()
        left.socket.sendall(data[:at])
        assert right.receive_ready() == []
        left.socket.sendall(data[at:])
        (message,) = right.receive_ready()
        assert message.body == {"event": {"kind": "notice", "message": "ä"}}
        left.close()
        right.close()


@given(MESSAGES, st.data())
def test_any_messages_survive_any_cuts(
    messages: list[tuple[str, dict[str, Any]]], data: st.DataObject
) -> None:
    stream = b"".join(frame(type_, body) for type_, body in messages)
    cuts = sorted(data.draw(st.lists(st.integers(1, len(stream)), max_size=4)))
    left, right = pair()
    received = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        if start < end:
            left.socket.sendall(stream[start:end])
            received += right.receive_ready()
    assert [(message.type, message.body) for message in received] == messages
    left.close()
    right.close()


def test_messages_of_one_read_come_in_order(ends: tuple[Connection, Connection]) -> None:
    left, right = ends
    for step in range(3):
        left.send("snapshot", {"step": step})
    assert [message.body["step"] for message in right.receive_ready()] == [0, 1, 2]


def test_descriptors_stay_with_their_frame(
    ends: tuple[Connection, Connection], tmp_path: Path
) -> None:
    left, right = ends
    fds = [file_of(name, tmp_path) for name in ("a", "b", "c")]
    left.send("plain")
    left.send("arena", {}, fds[:2])
    left.send("plain")
    left.send("image", {}, fds[2:])
    for fd in fds:
        os.close(fd)
    messages = [right.receive() for _ in range(4)]
    assert [message.type for message in messages] == ["plain", "arena", "plain", "image"]
    assert [[content(fd) for fd in message.fds] for message in messages] == [
        [],
        ["a", "b"],
        [],
        ["c"],
    ]


def test_received_descriptors_are_not_inherited(ends: tuple[Connection, Connection]) -> None:
    left, right = ends
    left.send("beacon", {}, [left.fileno()])
    (fd,) = right.receive().fds
    assert not os.get_inheritable(fd)
    os.close(fd)


def test_a_message_larger_than_any_buffer(
    ends: tuple[Connection, Connection], tmp_path: Path
) -> None:
    left, right = ends
    fd = file_of("x", tmp_path)
    body = {"text": "y" * (4 << 20)}
    sender = threading.Thread(target=left.send, args=("event", body, [fd]))
    sender.start()
    message = right.receive()
    sender.join()
    os.close(fd)
    assert message.body == body
    assert [content(fd) for fd in message.fds] == ["x"]


def test_threads_do_not_mix_their_frames(ends: tuple[Connection, Connection]) -> None:
    left, right = ends
    text = "z" * 50_000

    def send_many(sender: int) -> None:
        for number in range(20):
            left.send("event", {"sender": sender, "number": number, "text": text})

    threads = [threading.Thread(target=send_many, args=(sender,)) for sender in range(3)]
    for thread in threads:
        thread.start()
    received = [right.receive().body for _ in range(60)]
    for thread in threads:
        thread.join()
    for sender in range(3):
        assert [b["number"] for b in received if b["sender"] == sender] == list(range(20))
    assert {body["text"] for body in received} == {text}


def test_an_end_that_closed_is_told(ends: tuple[Connection, Connection]) -> None:
    left, right = ends
    left.send("finish")
    left.close()
    assert right.receive().type == "finish"
    with pytest.raises(PeerClosed):
        right.receive()
    with pytest.raises(PeerClosed):
        right.send("finished")


def test_half_a_message_is_no_message(ends: tuple[Connection, Connection]) -> None:
    left, right = ends
    left.socket.sendall(frame("event", {"event": {}})[:-1])
    left.close()
    with pytest.raises(PeerClosed):
        right.receive()


def test_an_end_that_died_with_words_unread_is_told(ends: tuple[Connection, Connection]) -> None:
    left, right = ends
    right.send("never read")
    left.close()  # the kernel resets the connection
    with pytest.raises(PeerClosed):
        right.receive()


def test_closing_closes_descriptors_of_a_frame_that_never_became_whole(
    ends: tuple[Connection, Connection], tmp_path: Path
) -> None:
    left, right = ends
    fd = file_of("a", tmp_path)
    data = frame("arena", {"size_bytes": 1})
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
    with pytest.raises(ValueError, match=r"message|utf-8|Expecting"):
        right.receive()
    sender.join()


def test_what_comes_around_what_is_no_message_counts(ends: tuple[Connection, Connection]) -> None:
    left, right = ends
    whole = frame("hello", {"pid": 1})
    left.socket.sendall(whole + struct.pack("<IB", 3, 0) + b"[1]" + whole)
    assert [each.type for each in right.receive_ready()] == ["hello", "malformed", "hello"]


def test_a_length_that_no_message_has_ends_the_conversation(
    ends: tuple[Connection, Connection],
) -> None:
    left, right = ends
    left.socket.sendall(struct.pack("<IB", 0xFFFFFFFF, 0))
    with pytest.raises(PeerClosed):
        right.receive_ready()


def test_half_a_character_is_replaced(ends: tuple[Connection, Connection]) -> None:
    left, right = ends
    left.send("event", {"file": "caf\udce9.py"})
    assert right.receive().body["file"] == "caf?.py"


def test_who_takes_no_answer_holds_nobody_up(ends: tuple[Connection, Connection]) -> None:
    left, right = ends
    left.socket.settimeout(0.05)
    with pytest.raises(PeerClosed):
        left.send("reply", {"text": "x" * (1 << 22)})
    with pytest.raises(PeerClosed):
        left.receive_ready()
    right.close()


def test_files_that_this_process_may_not_open_are_told_as_lost(
    ends: tuple[Connection, Connection],
) -> None:
    left, right = ends
    left.send("image", {}, [left.fileno(), right.fileno()])
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
    with pytest.raises(PeerClosed, match="Nobody listens at"):
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
    client.send("hello", {"protocol": 1})
    assert server.receive().body == {"protocol": 1}
    assert server.socket.gettimeout() is None
    for end in (client, server, listener):
        end.close()
