"""A script that asks for its own stop, wherever it runs."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import pitstop
from pitstop.engine.session import process_session
from pitstop.engine.session.session import Session
from pitstop.events import StopRequested, from_record
from pitstop.link.beacon import Beacon, Stop
from pitstop.link.messages import ClientRequest, StatusAnswer
from pitstop.link.settings import ENV_SOCKET
from pitstop.link.wire import Connection, Received, pair
from tests.messages import body_of, welcome

_IN_A_FORK = """
import os, sys, warnings
from pitstop import request_stop
from pitstop.engine.session import process_session
from pitstop.engine.session.session import Session
from pitstop.link.beacon import Beacon
from pitstop.link.messages import Welcome
from pitstop.link.settings import Settings
from pitstop.link.wire import PROTOCOL, pair

supervisor, trainer = pair()
beacon = Beacon.create()
welcome = Welcome(PROTOCOL, sys.argv[1], 1, Settings(), -1, [])
process_session._sessions[os.getpid()] = Session(trainer, beacon, welcome)
if os.fork() == 0:
    warnings.simplefilter("ignore")
    request_stop("not mine to ask")
    os._exit(0)
os.wait()
print(beacon.stop())
"""


@pytest.fixture(autouse=True)
def outside_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_session, "_sessions", {})
    monkeypatch.delenv(ENV_SOCKET, raising=False)


@pytest.fixture
def listener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A socket at the place that the environment names."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        listening.listen()
        monkeypatch.setenv(ENV_SOCKET, str(tmp_path / "socket"))
        yield listening


def _serve_one(listener: socket.socket, received: list[Received], *, answer: bool) -> None:
    connection = Connection(listener.accept()[0])
    received.append(connection.receive())
    if answer:
        connection.send(StatusAnswer({}))
    connection.close()


def test_outside_of_a_run_it_warns_where_it_was_called() -> None:
    with pytest.warns(RuntimeWarning, match="not running under `pitstop run`") as caught:
        pitstop.request_stop("enough")
    assert caught[0].filename == __file__


def test_in_the_process_that_trains_the_word_is_raised_at_once(tmp_path: Path) -> None:
    supervisor, trainer = pair()
    beacon = Beacon.create()
    process_session._sessions[os.getpid()] = Session(trainer, beacon, welcome(tmp_path))
    pitstop.request_stop("enough")
    assert beacon.stop() == Stop.GRACEFUL
    event = from_record(body_of(supervisor.receive())["event"])
    assert event == StopRequested("script", "graceful", reason="enough")
    supervisor.close()
    trainer.close()
    os.close(beacon.fd)


def test_a_forked_worker_does_not_use_its_parent_s_session(tmp_path: Path) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", _IN_A_FORK, tmp_path],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert shown.stdout.strip() == "0"


def test_where_nothing_trains_the_supervisor_is_asked(listener: socket.socket) -> None:
    received: list[Received] = []
    serving = threading.Thread(
        target=_serve_one, args=(listener, received), kwargs={"answer": True}
    )
    serving.start()
    pitstop.request_stop("enough")
    serving.join(timeout=30)
    [request] = received
    assert request.message == ClientRequest("stop", source="script", reason="enough")


def test_a_supervisor_that_is_gone_is_told_of(listener: socket.socket) -> None:
    serving = threading.Thread(target=_serve_one, args=(listener, []), kwargs={"answer": False})
    serving.start()
    with pytest.warns(RuntimeWarning, match="lost its supervisor"):
        pitstop.request_stop()
    serving.join(timeout=30)
    listener.close()
    with pytest.warns(RuntimeWarning, match="lost its supervisor"):
        pitstop.request_stop()


def test_what_does_not_exist_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'stop_request'"):
        _ = pitstop.stop_request  # type: ignore[attr-defined]


def test_nothing_is_stopped_outside_of_a_run() -> None:
    assert not pitstop.stopped()
