"""Receives whoever connects to the run's socket and finds out who it is."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from pitstop.errors import PeerClosed
from pitstop.link.wire import Connection, Message
from pitstop.supervisor.control import ControlSocket
from pitstop.supervisor.reactor import Reactor
from pitstop.supervisor.requests import RequestDesk


class Reception:
    """Clients that have not said yet who they are, and command-line clients."""

    def __init__(
        self,
        reactor: Reactor,
        control: ControlSocket,
        desk: RequestDesk,
        on_hello: Callable[[Connection, dict[str, Any]], None],
    ) -> None:
        self._reactor = reactor
        self._control = control
        self._desk = desk
        self._on_hello = on_hello
        self._clients: set[Connection] = set()
        reactor.watch(control, self._accept)

    def close(self) -> None:
        """Says good-bye to clients that wait for the end of the run."""
        self._reactor.forget(self._control)
        for client in list(self._clients):
            self._dismiss(client)

    def _accept(self) -> None:
        client = self._control.accept()
        if client is not None:
            self._clients.add(client)
            self._reactor.watch(client, lambda: self._receive(client))

    def _receive(self, client: Connection) -> None:
        try:
            messages = client.receive_ready()
        except (PeerClosed, ValueError):
            self._dismiss(client)
            return
        for message in messages:
            self._handle(client, message)

    def _handle(self, client: Connection, message: Message) -> None:
        if message.type == "request":
            self._desk.serve(client, message.body)
        elif message.type == "hello":
            self._clients.discard(client)
            self._reactor.forget(client)
            self._on_hello(client, message.body)
        for fd in message.fds:
            os.close(fd)

    def _dismiss(self, client: Connection) -> None:
        self._clients.discard(client)
        self._reactor.forget(client)
        self._desk.forget(client)
        client.close()
