"""The conversation with the process that trains."""

from __future__ import annotations

import contextlib
import select
from collections.abc import Iterator

from pitstop.errors import EnvironmentFault, PeerClosed
from pitstop.events import StopRequested, from_record
from pitstop.link.messages import (
    ArenaOffer,
    EventReport,
    Hello,
    Message,
    RestoreRequest,
    SnapshotReport,
    VitalsReport,
)
from pitstop.link.wire import PROTOCOL, Connection, Received, close_all
from pitstop.supervisor.lifecycle.occurrences import ArenaReceived, Occurrence, StopAsked


def refusal(hello: Hello, trainer_pid: int, *, slot_taken: bool) -> str:
    """Why a process may not train in this run, empty when it may.

    With `slot_taken`, nobody but the process `trainer_pid` may.
    """
    if hello.protocol != PROTOCOL:
        return f"it speaks protocol {hello.protocol}, and this supervisor {PROTOCOL}"
    if not slot_taken or hello.pid == trainer_pid:
        return ""
    return f"process {trainer_pid} trains in this run"


class TrainerLink:
    """One process that trains, from its hello to its end.

    `lost`: it has closed its end; `open`: our end is open.
    """

    def __init__(self, connection: Connection, pid: int) -> None:
        self.connection = connection
        self.pid = pid
        self.open = True
        self.lost = False

    def receive(self) -> Iterator[Occurrence]:
        try:
            received = self.connection.receive_ready()
        except (PeerClosed, EnvironmentFault):
            self.lost = True
            return
        for each in received:
            yield from _occurrences(each)

    def drain(self) -> Iterator[Occurrence]:
        """Everything that a process which is gone has said."""
        while self.open and not self.lost and select.select([self.connection], [], [], 0)[0]:
            yield from self.receive()

    def close(self) -> None:
        if self.open:
            self.open = False
            self.connection.close()

    def send(self, message: Message, *fds: int) -> None:
        """Tells it something; the descriptors stay ours."""
        # A trainer that is gone is noticed by the end of its connection.
        if self.open:
            with contextlib.suppress(PeerClosed):
                self.connection.send(message, fds)


def _occurrences(received: Received) -> tuple[Occurrence, ...]:
    """What a message tells the attempt; nothing where it is not for a supervisor."""
    match received.message:
        case EventReport(record):
            event = from_record(record)
            if isinstance(event, StopRequested) and event.source in ("script", "signal"):
                return (StopAsked(event),)
            return (event,)
        case ArenaOffer() as offer:
            return (ArenaReceived(offer, received.fds[0]),)
        case SnapshotReport() | RestoreRequest() | VitalsReport() as message:
            return (message,)
        case _:
            close_all(received.fds)
            return ()
