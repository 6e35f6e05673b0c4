"""Receives whoever connects to the run's socket and finds out who it is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

from pitstop.errors import EnvironmentFault, PeerClosed
from pitstop.link.messages import (
    ClientRequest,
    Hello,
    MalformedMessage,
    Refusal,
    ReleaseRequest,
    RoleReport,
)
from pitstop.link.wire import Connection, Received, close_all
from pitstop.supervisor.control.control_socket import ControlSocket, peer_of
from pitstop.supervisor.control.requests import RequestDesk
from pitstop.supervisor.lifecycle.event_loop import EventLoop
from pitstop.supervisor.lifecycle.occurrences import Occurrence, TrainingAsked


class ClientReception:
    """Clients that have not said yet who they are, and command-line clients."""

    def __init__(self, event_loop: EventLoop, control: ControlSocket, desk: RequestDesk) -> None:
        self._event_loop = event_loop
        self._control = control
        self._desk = desk
        self._clients: set[Connection] = set()
        event_loop.watch(control, self._accept)

    def close(self) -> None:
        self._event_loop.forget(self._control)
        for client in list(self._clients):
            self._dismiss(client)

    def _accept(self) -> None:
        client = self._control.accept()
        if client is not None:
            self._clients.add(client)
            self._event_loop.watch(client, lambda: self._receive(client))

    def _receive(self, client: Connection) -> Iterator[Occurrence]:
        try:
            received = client.receive_ready()
        except (PeerClosed, EnvironmentFault):
            self._dismiss(client)
            return
        for each in received:
            if client in self._clients:
                yield from self._handle(client, each)
            close_all(each.fds)

    def _handle(self, client: Connection, received: Received) -> Iterator[Occurrence]:
        match received.message:
            case MalformedMessage(reason):
                with contextlib.suppress(PeerClosed):
                    client.send(Refusal(reason))
                self._dismiss(client)
            case ClientRequest() as request:
                yield from self._desk.serve(client, request)
            case RoleReport() as report:
                yield from self._desk.take_role(client, report)
            case ReleaseRequest():
                self._desk.await_release(client)
            case Hello() as hello:
                self._clients.discard(client)
                self._event_loop.forget(client)
                # What the kernel says, unless the process lives among other process ids.
                pid = peer_of(client).pid or hello.pid
                yield TrainingAsked(client, replace(hello, pid=pid))

    def _dismiss(self, client: Connection) -> None:
        self._clients.discard(client)
        self._event_loop.forget(client)
        self._desk.forget(client)
        client.close()
