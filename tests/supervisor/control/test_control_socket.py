"""The socket of a run."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from pitstop.link.wire import Connection
from pitstop.supervisor.control.control_socket import ControlSocket, peer_of


def test_only_this_user_can_connect_and_the_peer_is_known(tmp_path: Path) -> None:
    control = ControlSocket({"XDG_RUNTIME_DIR": str(tmp_path)})
    folder = control.path.parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(control.path.stat().st_mode) == 0o600
    client = Connection.connect(str(control.path))
    server = control.accept()
    assert server is not None
    assert peer_of(server) == (os.getpid(), os.getuid())
    for each in (client, server, control):
        each.close()
    assert not control.path.exists()


def test_folder_that_others_may_enter_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "pitstop").mkdir(mode=0o755)
    control = ControlSocket({"XDG_RUNTIME_DIR": str(tmp_path)})
    assert not control.path.is_relative_to(tmp_path)
    control.close()


def test_folder_with_a_long_path_is_not_used(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    control = ControlSocket({"XDG_RUNTIME_DIR": str(deep)})
    assert not control.path.is_relative_to(deep)
    control.close()


def test_nobody_waiting_is_no_client(tmp_path: Path) -> None:
    control = ControlSocket({"XDG_RUNTIME_DIR": str(tmp_path)})
    assert control.accept() is None
    control.close()


def test_socket_of_a_killed_supervisor_is_swept_and_a_live_one_is_not(tmp_path: Path) -> None:
    environment = {"XDG_RUNTIME_DIR": str(tmp_path)}
    live = ControlSocket(environment)
    dead = live.path.with_name("1-dead.sock")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(dead))
    later = ControlSocket(environment)
    assert not dead.exists()
    assert live.path.exists()
    live.close()
    later.close()


def test_two_supervisors_that_start_at_once_leave_each_other_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one looks around while the first has a name and does not listen yet."""
    environment = {"XDG_RUNTIME_DIR": str(tmp_path)}
    listen = socket.socket.listen
    others: list[ControlSocket] = []

    def listen_late(sock: socket.socket, backlog: int) -> None:
        monkeypatch.setattr(socket.socket, "listen", listen)
        others.append(ControlSocket(environment))
        listen(sock, backlog)

    monkeypatch.setattr(socket.socket, "listen", listen_late)
    control = ControlSocket(environment)
    for each in (control, *others):
        Connection.connect(str(each.path)).close()
        each.close()


def test_a_supervisor_that_does_not_answer_holds_nobody_up(tmp_path: Path) -> None:
    environment = {"XDG_RUNTIME_DIR": str(tmp_path)}
    deaf = ControlSocket(environment)
    waiting = []
    while True:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.setblocking(False)
        waiting.append(client)
        try:
            client.connect(str(deaf.path))
        except BlockingIOError:
            break
    other = ControlSocket(environment)
    assert deaf.path.exists()
    other.close()
    deaf.close()
    for client in waiting:
        client.close()
