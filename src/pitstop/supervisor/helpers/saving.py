"""Getting snapshots to disk through the persister, whatever becomes of it."""

from __future__ import annotations

import time
from collections.abc import Iterator

from pitstop.errors import PeerClosed
from pitstop.events import from_record
from pitstop.link.messages import (
    EventReport,
    ImageAnswer,
    NoImage,
    Persist,
    Persisted,
    PersistFailed,
    SnapshotReport,
)
from pitstop.link.wire import Received
from pitstop.supervisor.helpers.persister_link import PersisterLink
from pitstop.supervisor.helpers.persisting import Persisting
from pitstop.supervisor.helpers.restoring import Restoring
from pitstop.supervisor.lifecycle.event_loop import EventLoop
from pitstop.supervisor.lifecycle.occurrences import Occurrence
from pitstop.supervisor.lifecycle.table import Trigger
from pitstop.supervisor.records.history import Losses
from pitstop.supervisor.records.notices import NO_PERSISTER, SAVE_LEFT, SAVE_TAKES_LONG

_NEVER = float("inf")
_AGAIN_SECONDS = 60.0
"""The time until another persister is tried, when there is none: memory may be free again."""


class Saving:
    """The persister of an attempt, and when it is asked for what."""

    def __init__(
        self,
        event_loop: EventLoop,
        persister: PersisterLink,
        restoring: Restoring,
        losses: Losses,
        patience_seconds: float,
    ) -> None:
        """`patience_seconds`: what the last save may take until nobody need wait for it."""
        self._event_loop = event_loop
        self._persister = persister
        self._restoring = restoring
        self._policy = Persisting.start(time.monotonic(), losses)
        self._patience_seconds = patience_seconds
        self._overdue_at = _NEVER
        self._told_overdue = False
        self._again_at = _NEVER
        self._told_given_up = False

    @property
    def interval_seconds(self) -> float | None:
        return self._policy.interval_seconds or None

    def begin(self) -> None:
        """Listens to the persister, which has been started."""
        if self._persister.connection is not None:
            self._event_loop.watch(self._persister.connection, self._receive)

    def restart(self) -> Iterator[Occurrence]:
        self._policy = self._policy.failed(time.monotonic())
        try:
            self._persister.start()
        except OSError:
            yield from self.give_up()
        else:
            self.begin()
            self._restoring.persister_restarted()

    def give_up(self) -> Iterator[Occurrence]:
        self._policy = self._policy.failed(time.monotonic())
        if not self._told_given_up:
            self._told_given_up = True
            yield NO_PERSISTER
        yield from self._restoring.persister_given_up()
        self._again_at = time.monotonic() + _AGAIN_SECONDS

    def _try_again(self) -> Iterator[Occurrence]:
        self._again_at = _NEVER
        yield from self.restart()

    def taken(self, snapshot: SnapshotReport) -> None:
        self._policy = self._policy.taken(snapshot)

    def persist_soon(self, reason: str) -> None:
        self._policy = self._policy.hurried(reason)

    def tick(self) -> Iterator[Occurrence]:
        """Asks for a checkpoint when one is due, a persister of its own if there is none."""
        if time.monotonic() >= self._again_at:
            yield from self._try_again()
        if self.is_overdue and not self._told_overdue:
            self._told_overdue = True
            yield SAVE_TAKES_LONG
        reason = self._policy.due(time.monotonic())
        if reason and self._persister.connection is not None:
            self._policy = self._policy.asked()
            self._persister.send(Persist(reason))

    def persist_last(self, reason: str) -> Iterator[Occurrence]:
        """Asks for what the trainer has left; a reason of the snapshot's own wins."""
        if self._again_at != _NEVER:
            yield from self._try_again()
        self._persister.send(Persist(self._policy.urgent or reason))

    def finish(self) -> tuple[Occurrence, ...]:
        """Asks the persister to end; without one, there is nothing to wait for."""
        if self._persister.connection is None:
            return (Trigger.PERSISTER_GIVEN_UP,)
        self._overdue_at = time.monotonic() + self._patience_seconds
        self._persister.finish()
        return ()

    @property
    def is_overdue(self) -> bool:
        """Whether the last save takes so long that the disk may be dead."""
        return time.monotonic() >= self._overdue_at

    def leave(self) -> tuple[Occurrence, ...]:
        """Goes without the end of the last save: the persister does what it can, alone."""
        self._forget()
        self._persister.leave()
        return (SAVE_LEFT,)

    def _forget(self) -> None:
        if self._persister.connection is not None:
            self._event_loop.forget(self._persister.connection)

    def _receive(self) -> Iterator[Occurrence]:
        try:
            received = self._persister.receive()
        except PeerClosed:
            yield self._ended()
            return
        for each in received:
            yield from self._handle(each)

    def _handle(self, received: Received) -> Iterator[Occurrence]:
        match received.message:
            case EventReport(event):
                yield from_record(event)
            case ImageAnswer() | NoImage():
                yield from self._restoring.answered(received)
            case Persisted(sequence, _, seconds):
                self._policy = self._policy.answered(sequence, time.monotonic(), seconds)
                self._told_given_up = False
            case PersistFailed():
                self._policy = self._policy.failed(time.monotonic())

    def _ended(self) -> Trigger:
        self._forget()
        self._persister.lost()
        if self._persister.finished:
            return Trigger.PERSISTER_FINISHED
        if self._persister.may_restart:
            return Trigger.PERSISTER_LOST
        return Trigger.PERSISTER_GIVEN_UP
