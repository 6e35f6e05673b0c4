"""Who connects to the run's socket may be anybody."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pitstop.errors import PeerClosed
from pitstop.link.messages import ClientRequest, Hello
from pitstop.link.wire import PROTOCOL, Connection
from pitstop.supervisor.control.control_socket import ControlSocket
from pitstop.supervisor.control.requests import ClientReception
from pitstop.supervisor.lifecycle.occurrences import EventLoop, Occurrence, TrainingAsked


class Desk:
    """Remembers what was asked, and answers nothing."""

    def __init__(self) -> None:
        self.served: list[ClientRequest] = []

    def serve(self, _: Connection, request: ClientRequest) -> tuple[Occurrence, ...]:
        self.served.append(request)
        return ()

    def forget(self, _: Connection) -> None:
        """Nobody waits here."""


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Any]:
    control, event_loop, desk = (
        ControlSocket({"XDG_RUNTIME_DIR": str(tmp_path)}),
        EventLoop(),
        Desk(),
    )
    hellos: list[Hello] = []
    given: Any = desk

    def turn() -> None:
        for told in event_loop.turn(0.2):
            assert isinstance(told, TrainingAsked)
            hellos.append(told.hello)
            told.connection.close()

    clients = ClientReception(event_loop, control, given)
    yield SimpleNamespace(path=str(control.path), turn=turn, desk=desk, hellos=hellos)
    clients.close()
    control.close()
    event_loop.close()


def text(body: bytes) -> bytes:
    return struct.pack("<IB", len(body), 0) + body


@pytest.mark.parametrize(
    "body",
    [
        b'{"type":"hello","pid":"abc"}',
        b'{"type":"hello","protocol":1,"pid":1,"argv":5}',
        b'{"type":"client_request","command":"\xff"}',
        b'{"type":"client_request","command":' + b"[" * 30_000 + b"]" * 30_000 + b"}",
        b"[1]",
    ],
)
def test_a_bad_client_is_answered_and_dropped(room: Any, body: bytes) -> None:
    client = Connection.connect(room.path)
    client.socket.settimeout(5)
    client.socket.sendall(text(body) + text(b'{"type":"client_request","command":"status"}'))
    for _ in range(3):
        room.turn()
    assert client.receive().message.type == "refusal"
    with pytest.raises(PeerClosed):
        client.receive()
    assert (room.desk.served, room.hellos) == ([], [])
    other = Connection.connect(room.path)
    other.send(ClientRequest(command="status"))
    for _ in range(2):
        room.turn()
    assert room.desk.served == [ClientRequest("status")]
    other.close()
    client.close()


def test_a_process_is_who_the_kernel_says(room: Any) -> None:
    client = Connection.connect(room.path)
    client.send(Hello(protocol=PROTOCOL, pid=1))
    for _ in range(2):
        room.turn()
    assert [hello.pid for hello in room.hellos] == [os.getpid()]
    client.close()


def test_a_client_that_sends_for_ever_is_dropped(room: Any) -> None:
    client = Connection.connect(room.path)
    client.socket.sendall(struct.pack("<IB", 0xFFFFFFFF, 0))
    for _ in range(2):
        room.turn()
    client.socket.settimeout(5)
    assert client.socket.recv(1) == b""
    assert client.socket.family is socket.AF_UNIX
    client.close()
