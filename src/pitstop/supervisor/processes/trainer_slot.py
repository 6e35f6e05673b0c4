"""The one place for a training process in an attempt."""

import time
from collections.abc import Generator, Iterator
from dataclasses import asdict, replace

from pitstop.errors import EnvironmentFault, PeerClosed
from pitstop.events import StopRequested, from_record
from pitstop.link import messages
from pitstop.link.wire import PROTOCOL, Connection, Received, close_all
from pitstop.machine.descriptors import readable
from pitstop.store.manifest import CheckpointInfo
from pitstop.supervisor.lifecycle import occurrences
from pitstop.supervisor.lifecycle.occurrences import EventLoop

RestorePoints = tuple[tuple[str, CheckpointInfo], ...]
"""Checkpoints to restore: the names of their folders, and what their manifests say."""


def refusal(hello: messages.Hello, trainer_pid: int, *, slot_taken: bool) -> str:
    """Why a process may not train in this run; empty when it may."""
    if hello.protocol != PROTOCOL:
        return f"it uses protocol {hello.protocol}, but this supervisor uses {PROTOCOL}"
    if not slot_taken or hello.pid == trainer_pid:
        return ""
    return f"process {trainer_pid} already trains in this run"


def _occurrences(received: Received) -> tuple[occurrences.Occurrence, ...]:
    match received.message:
        case messages.EventReport(record):
            event = from_record(record)
            if isinstance(event, StopRequested) and event.source in ("script", "signal"):
                return (occurrences.StopAsked(event),)
            return (event,)
        case messages.ArenaOffer() as offer:
            return (occurrences.ArenaReceived(offer, received.fds[0]),)
        case (
            messages.SnapshotReport()
            | messages.RestoreRequest()
            | messages.VitalsReport() as message
        ):
            return (message,)
        case _:
            close_all(received.fds)
            return ()


def refuse(connection: Connection, reason: str) -> None:
    connection.tell(messages.Refusal(reason))
    connection.close()


class TrainerSlot:
    """Taken by one process at a time: the first that says hello, the next when that is gone."""

    def __init__(self, event_loop: EventLoop, terms: messages.Welcome, beacon_fd: int) -> None:
        self._event_loop = event_loop
        self.terms = terms  # what the trainer is told, except for its restore points
        self._beacon_fd = beacon_fd
        self.welcomed = False
        self.connection: Connection | None = None
        self.pid = 0  # of the trainer, 0 before there was one
        self.left_at: float | None = None  # when it was gone (CLOCK_MONOTONIC)

    @property
    def connected(self) -> bool:
        return self.connection is not None

    @property
    def present_pid(self) -> int:
        return self.pid if self.connected else 0

    def offer(
        self, connection: Connection, hello: messages.Hello, *, closed: bool = False
    ) -> Iterator[occurrences.Occurrence]:
        """Lets the process train, or refuses it; `closed`: only the present one may train."""
        reason = refusal(hello, self.pid, slot_taken=self.connected or closed)
        if reason:
            refuse(connection, reason)
            return
        yield from self.drain()  # of a process that reports once more
        self.connection = connection
        self.pid = hello.pid
        self.left_at = None
        self.welcomed = False
        self._event_loop.watch(connection, lambda: self._receive(connection))
        yield occurrences.TrainerCameIn(hello.pid)

    def welcome(self, points: RestorePoints) -> None:
        if not self.welcomed and self.connection is not None:
            self.welcomed = True
            bodies = [{"checkpoint": name, "info": asdict(info)} for name, info in points]
            self.connection.tell(replace(self.terms, points=bodies), [self._beacon_fd])

    def drain(self) -> Iterator[occurrences.Occurrence]:
        """All unread messages of a trainer that has ended; then the slot is free."""
        while self.connection is not None and readable([self.connection.fileno()]):
            if not (yield from self._hear(self.connection)):
                break
        self.clear()

    def clear(self) -> None:
        """Closes the connection of the present process; unread messages are lost."""
        if self.connection is not None:
            self._event_loop.forget(self.connection)
            self.connection.close()
            self.connection = None
            self.left_at = time.monotonic()

    def _receive(self, connection: Connection) -> Iterator[occurrences.Occurrence]:
        if not (yield from self._hear(connection)):
            self.clear()
            yield occurrences.TrainerLeft()

    def _hear(self, connection: Connection) -> Generator[occurrences.Occurrence, None, bool]:
        try:
            received = connection.receive_ready()
        except (PeerClosed, EnvironmentFault):
            return False
        for each in received:
            yield from _occurrences(each)
        return True
