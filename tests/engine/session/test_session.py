"""The trainer's end of a run, with a supervisor played by the test."""

from __future__ import annotations

import errno
import os
import socket
import threading
from pathlib import Path

import pytest

from pitstop.engine.session.session import Session
from pitstop.errors import PeerClosed, PeerFault, ProtocolMismatch
from pitstop.events import (
    Notice,
    TrainerConnected,
    from_record,
)
from pitstop.link.beacon import Beacon
from pitstop.link.messages import ImageAnswer, Message, NoImage, Refusal, Welcome
from pitstop.link.wire import PROTOCOL, Connection, Received
from tests.engine.played_supervisor import POINT, VERSIONS, MakeSupervisor, make
from tests.engine.snapshots.test_saved_state import image_of
from tests.messages import body_of

__all__ = ["make"]

# -- the beginning ---------------------------------------------------------------


def answering(folder: Path, answer: Message, received: list[Received]) -> str:
    """A supervisor that listens, answers one hello, and hears the next message."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "socket"))
    listener.listen()
    beacon = Beacon.create()

    def serve() -> None:
        connection = Connection(listener.accept()[0])
        received.append(connection.receive())
        welcomes = isinstance(answer, Welcome)
        connection.send(answer, [beacon.fd] if welcomes else [])
        if welcomes:
            received.append(connection.receive())
        connection.close()
        listener.close()

    threading.Thread(target=serve, daemon=True).start()
    return str(folder / "socket")


def test_opening_introduces_the_process(tmp_path: Path, make: MakeSupervisor) -> None:
    received: list[Received] = []
    session = Session.open(answering(tmp_path, make(every_steps=5).welcome(), received), VERSIONS)
    assert session.trainings.point_for(POINT.fit) == POINT
    assert session.lost_from_step == 11
    assert session.settings.every_steps == 5
    with pytest.raises(PeerClosed):
        session.fetch(POINT)
    session.report(Notice("never", "arrives"))
    hello, connected = received
    assert (hello.message.type, body_of(hello)["protocol"], body_of(hello)["pid"]) == (
        "hello",
        PROTOCOL,
        os.getpid(),
    )
    event = from_record(body_of(connected)["event"])
    assert isinstance(event, TrainerConnected)
    assert (event.pid, event.versions) == (os.getpid(), VERSIONS)


def test_a_refused_process_is_told_why(tmp_path: Path) -> None:
    path = answering(tmp_path, Refusal("process 7 already trains in this run"), [])
    with pytest.raises(ProtocolMismatch, match="process 7 already trains"):
        Session.open(path, VERSIONS)


def test_without_a_supervisor_there_is_no_session(tmp_path: Path) -> None:
    with pytest.raises(PeerClosed):
        Session.open(str(tmp_path / "socket"), VERSIONS)


# -- restoring -------------------------------------------------------------------


def test_a_script_that_runs_as_another_user_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def denied(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket.socket, "connect", denied)
    for _ in range(2):
        with pytest.raises(PeerClosed):
            Session.open(str(tmp_path / "socket"), VERSIONS)
    assert capsys.readouterr().err.count("as another user than `pitstop run`") == 1


def test_a_restore_point_is_fetched(make: MakeSupervisor) -> None:
    supervisor = make()
    fds = image_of(9)
    supervisor.connection.send(ImageAnswer(checkpoint=POINT.checkpoint), fds)
    for fd in fds:
        os.close(fd)
    assert supervisor.session.fetch(POINT).position.step == 9
    (asked,) = supervisor.told(1)
    assert (asked.message.type, body_of(asked)) == (
        "restore_request",
        {"checkpoint": POINT.checkpoint},
    )


def test_a_restore_point_that_is_gone(make: MakeSupervisor) -> None:
    supervisor = make()
    supervisor.connection.send(NoImage(checkpoint="c", reason="it is damaged"))
    with pytest.raises(PeerFault, match="it is damaged"):
        supervisor.session.fetch(POINT)
    assert supervisor.told(1)[0].message.type == "restore_request"
    told = supervisor.event()
    assert isinstance(told, Notice)
    assert (told.code, told.message) == (
        "resume_refused",
        f"Checkpoint {POINT.checkpoint}: it is damaged.",
    )
