"""The one place for a training process in an attempt."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from pitstop.errors import PeerClosed
from pitstop.link.messages import Hello, Refusal, Welcome
from pitstop.link.wire import PROTOCOL, Connection
from pitstop.record import record
from pitstop.supervisor.lifecycle.event_loop import EventLoop
from pitstop.supervisor.lifecycle.occurrences import Occurrence, TrainerCameIn, TrainerLeft
from pitstop.supervisor.trainer.chosen_checkpoint import ChosenCheckpoint
from pitstop.supervisor.trainer.trainer_link import TrainerLink, refusal


@record
class Invitation:
    """What every trainer of the attempt is told, but for the restore points; see `Welcome`."""

    run_dir: str
    attempt: int
    settings: dict[str, Any]
    lost_from_step: int
    beacon_fd: int


def refuse(connection: Connection, reason: str) -> None:
    """Tells a process why it may not train, and closes the connection to it."""
    with contextlib.suppress(PeerClosed):
        connection.send(Refusal(reason))
    connection.close()


class TrainerSlot:
    """Taken by one process at a time: the first that says hello, the next when that is gone.

    Attributes:
        link: the conversation with the trainer, None before there was one.
        pid: process id of the trainer, 0 before there was one.
        left_at: when it was gone, on the monotonic clock; None while it is there.
    """

    def __init__(self, event_loop: EventLoop, invitation: Invitation) -> None:
        self._event_loop = event_loop
        self._invitation = invitation
        self._gang = self._doubt = self._refusal = ""
        self.welcomed = False
        self.link: TrainerLink | None = None
        self.pid = 0
        self.left_at: float | None = None

    @property
    def connected(self) -> bool:
        return self.link is not None and self.link.open

    @property
    def present_pid(self) -> int:
        """Process id of the trainer that is there now, 0 when none is."""
        return self.pid if self.connected else 0

    def offer(
        self, connection: Connection, hello: Hello, *, closed: bool = False
    ) -> Iterator[Occurrence]:
        """A process wants to train: `TrainerCameIn` if it may, it is refused otherwise.

        `closed`: no process but the present one may train any more.  The connection is ours to
        close.
        """
        reason = refusal(hello, self.pid, slot_taken=self.connected or closed)
        if reason:
            refuse(connection, reason)
            return
        yield from self.drain()  # of a process that reports once more
        self._take(connection, hello)
        yield TrainerCameIn(hello.pid)

    def join_gang(self, gang: str, doubt: str) -> None:
        """Who trains here does so as a member of a gang, see `Welcome`."""
        self._gang, self._doubt = gang, doubt

    def refuse_resume(self, reason: str) -> None:
        """Who trains here may not go on, see `Welcome`."""
        self._refusal = reason

    def welcome(self, points: tuple[ChosenCheckpoint, ...]) -> None:
        """Lets the trainer begin, once it is there and the restore points are known."""
        if self.welcomed or self.link is None:
            return
        self.welcomed = True
        invitation = self._invitation
        welcome = Welcome(
            PROTOCOL,
            invitation.run_dir,
            invitation.attempt,
            invitation.settings,
            invitation.lost_from_step,
            [point.to_json() for point in points],
            self._gang,
            self._doubt,
            self._refusal,
        )
        self.link.welcome(welcome, invitation.beacon_fd)

    def drain(self) -> Iterator[Occurrence]:
        """Everything that a trainer which is gone has said; then the slot is free."""
        if self.link is not None:
            yield from self.link.drain()
            self.clear()

    def clear(self) -> None:
        """Sends away who is there; what it has still to say is not heard."""
        if self.link is not None and self.link.open:
            self._event_loop.forget(self.link.connection)
            self.link.close()
            self.left_at = time.monotonic()

    def _take(self, connection: Connection, hello: Hello) -> None:
        self.link = TrainerLink(connection, hello.pid)
        self.pid = hello.pid
        self.left_at = None
        self.welcomed = False
        self._event_loop.watch(connection, self._receive)

    def _receive(self) -> Iterator[Occurrence]:
        if self.link is not None:
            yield from self.link.receive()
            if self.link.lost:
                self.clear()
                yield TrainerLeft()
