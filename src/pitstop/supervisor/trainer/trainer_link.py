"""The conversation with the process that trains."""

from __future__ import annotations

import contextlib
import select
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pitstop.errors import EnvironmentFault, PeerClosed
from pitstop.events import Event, from_record
from pitstop.link.grammar import malformation_of
from pitstop.link.wire import PROTOCOL, Connection, Message, close_all
from pitstop.supervisor.trainer.snapshot import Snapshot


@dataclass(frozen=True)
class Introduction:
    """A process that offers to train."""

    protocol: int
    pid: int
    python: str
    argv: tuple[str, ...]

    @classmethod
    def from_body(cls, body: dict[str, Any]) -> Introduction:
        """From a `hello`."""
        return cls(
            int(body.get("protocol", 0)),
            int(body.get("pid", 0)),
            str(body.get("python", "")),
            tuple(body.get("argv", ())),
        )


def refusal(hello: Introduction, seated_pid: int, *, seat_taken: bool) -> str:
    """Why a process may not train in this run, empty when it may.

    Args:
        hello: what it says of itself.
        seated_pid: the process that trains, or trained before; of no account while the
            seat is free.
        seat_taken: nobody but that process may train.
    """
    if hello.protocol != PROTOCOL:
        return f"it speaks protocol {hello.protocol}, and this supervisor {PROTOCOL}"
    if not seat_taken or hello.pid == seated_pid:
        return ""
    return f"process {seated_pid} trains in this run"


@dataclass(frozen=True)
class TrainerHandlers:
    """What the supervision does with what the trainer says."""

    on_event: Callable[[Event], None]
    on_arena: Callable[[dict[str, Any], int], None]
    on_snapshot: Callable[[Snapshot], None]
    on_restore: Callable[[str], None]
    on_vitals: Callable[[dict[str, Any]], None]


class TrainerLink:
    """One process that trains, from its hello to its end.

    Attributes:
        pid: its process id.
        lost: it has closed its end.
        open: our end is open.
    """

    def __init__(self, connection: Connection, pid: int, handlers: TrainerHandlers) -> None:
        self.connection = connection
        self.pid = pid
        self.open = True
        self.lost = False
        self._handlers = handlers

    def receive(self) -> None:
        """Handles what has arrived."""
        try:
            messages = self.connection.receive_ready()
        except (PeerClosed, EnvironmentFault):
            self.lost = True
            return
        for message in messages:
            self._handle(message)

    def drain(self) -> None:
        """Handles everything that a process which is gone has said."""
        while self.open and not self.lost and select.select([self.connection], [], [], 0)[0]:
            self.receive()

    def welcome(self, body: dict[str, Any], beacon_fd: int) -> None:
        """Lets it train."""
        self._send("welcome", {"protocol": PROTOCOL, **body}, beacon_fd)

    def give_image(self, checkpoint: str, fds: tuple[int, ...]) -> None:
        """Hands a restore point over; the descriptors stay ours."""
        self._send("image", {"checkpoint": checkpoint}, *fds)

    def give_no_image(self, checkpoint: str, reason: str) -> None:
        """Tells that a restore point cannot be loaded."""
        self._send("no_image", {"checkpoint": checkpoint, "reason": reason})

    def close(self) -> None:
        """Ends the conversation."""
        if self.open:
            self.open = False
            self.connection.close()

    def _handle(self, message: Message) -> None:
        handlers, body = self._handlers, message.body
        if malformation_of(message):
            close_all(message.fds)
        elif message.type == "event":
            handlers.on_event(from_record(body["event"]))
        elif message.type == "arena":
            handlers.on_arena(body, message.fds[0])
        elif message.type == "snapshot":
            handlers.on_snapshot(snapshot_from(body))
        elif message.type == "restore":
            handlers.on_restore(str(body["checkpoint"]))
        elif message.type == "vitals":
            handlers.on_vitals(body)
        else:
            close_all(message.fds)

    def _send(self, type_: str, body: dict[str, Any], *fds: int) -> None:
        # A trainer that is gone is noticed by the end of its connection.
        if self.open:
            with contextlib.suppress(PeerClosed):
                self.connection.send(type_, body, fds)


def snapshot_from(body: dict[str, Any]) -> Snapshot:
    """The snapshot that a message announces."""
    return Snapshot(
        sequence=int(body["sequence"]),
        step=int(body["step"]),
        epoch=int(body["epoch"]),
        reason=str(body["reason"]),
        durable=bool(body["durable"]),
    )
