"""Getting snapshots to disk through the persister, whatever becomes of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from pitstop.errors import PeerClosed
from pitstop.events import Event, from_record
from pitstop.link.messages import (
    EventReport,
    ImageAnswer,
    NoImage,
    Persisted,
    PersistFailed,
    SnapshotReport,
)
from pitstop.link.wire import Received
from pitstop.supervisor.helpers.persister_link import PersisterLink
from pitstop.supervisor.helpers.persisting import Persisting
from pitstop.supervisor.helpers.restoring import Restoring
from pitstop.supervisor.lifecycle.event_loop import EventLoop
from pitstop.supervisor.lifecycle.table import Trigger
from pitstop.supervisor.records.losses import Losses
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
        on_event: Callable[[Event], None],
        feed: Callable[[Trigger], None],
        losses: Losses,
        patience_seconds: float,
    ) -> None:
        """Nothing is asked for yet.

        Args:
            reactor: waits for the persister's messages.
            persister: not started yet.
            restoring: told of what the persister loads.
            on_event: told of what happened.
            feed: told of what the lifecycle must know.
            losses: what the attempts before have seen.
            patience_seconds: what the last save may take until nobody need wait for it.
        """
        self._event_loop = event_loop
        self._persister = persister
        self._restoring = restoring
        self._on_event = on_event
        self._feed = feed
        self._policy = Persisting.start(time.monotonic(), losses)
        self._patience_seconds = patience_seconds
        self._overdue_at = _NEVER
        self._told_overdue = False
        self._again_at = _NEVER
        self._told_given_up = False

    @property
    def interval_seconds(self) -> float | None:
        """The time between checkpoints at present, None before the first."""
        return self._policy.interval_seconds or None

    def start(self) -> None:
        """Starts the persister.

        Raises:
            OSError: the kernel refuses another process.
        """
        self._event_loop.watch(self._persister.start(), self._receive)

    def restart(self) -> None:
        """Starts another persister in place of one that died."""
        self._policy = self._policy.failed(time.monotonic())
        try:
            self.start()
        except OSError:
            self.give_up()
        else:
            self._restoring.persister_restarted()

    def give_up(self) -> None:
        """Goes on without a persister for now; another one is tried from time to time."""
        self._policy = self._policy.failed(time.monotonic())
        if not self._told_given_up:
            self._told_given_up = True
            self._on_event(NO_PERSISTER)
        self._restoring.persister_given_up()
        self._again_at = time.monotonic() + _AGAIN_SECONDS

    def _try_again(self) -> None:
        self._again_at = _NEVER
        self.restart()

    def taken(self, snapshot: SnapshotReport) -> None:
        """A snapshot is whole."""
        self._policy = self._policy.taken(snapshot)

    def persist_soon(self, reason: str) -> None:
        """What is in memory may be lost soon; the reason is that of the checkpoint."""
        self._policy = self._policy.hurried(reason)

    def tick(self) -> None:
        """Asks for a checkpoint when one is due, a persister of its own if there is none."""
        if time.monotonic() >= self._again_at:
            self._try_again()
        if self.is_overdue and not self._told_overdue:
            self._told_overdue = True
            self._on_event(SAVE_TAKES_LONG)
        reason = self._policy.due(time.monotonic())
        if reason and self._persister.connection is not None:
            self._policy = self._policy.asked()
            self._persister.persist(reason)

    def persist_last(self, reason: str) -> None:
        """Asks for what the trainer has left; the persister knows what is durable.

        Args:
            reason: why, unless the newest snapshot has a reason of its own.
        """
        if self._again_at != _NEVER:
            self._try_again()
        self._persister.persist(self._policy.urgent or reason)

    def finish(self) -> None:
        """Asks the persister to end; without one, there is nothing to wait for."""
        if self._persister.connection is None:
            self._feed(Trigger.PERSISTER_GIVEN_UP)
        else:
            self._overdue_at = time.monotonic() + self._patience_seconds
            self._persister.finish()

    @property
    def is_overdue(self) -> bool:
        """Whether the last save takes so long that the disk may be dead."""
        return time.monotonic() >= self._overdue_at

    def leave(self) -> None:
        """Goes without the end of the last save: the persister does what it can, alone."""
        if self._persister.connection is not None:
            self._event_loop.forget(self._persister.connection)
        self._persister.leave()
        self._on_event(SAVE_LEFT)

    def _receive(self) -> None:
        try:
            received = self._persister.receive()
        except PeerClosed:
            self._ended()
            return
        for each in received:
            self._handle(each)

    def _handle(self, received: Received) -> None:
        match received.message:
            case EventReport(event):
                self._on_event(from_record(event))
            case ImageAnswer() | NoImage():
                self._restoring.answered(received)
            case Persisted(sequence, _, seconds):
                self._policy = self._policy.answered(sequence, time.monotonic(), seconds)
                self._told_given_up = False
            case PersistFailed():
                self._policy = self._policy.failed(time.monotonic())

    def _ended(self) -> None:
        if self._persister.connection is not None:
            self._event_loop.forget(self._persister.connection)
        self._persister.lost()
        if self._persister.finished:
            self._feed(Trigger.PERSISTER_FINISHED)
        elif self._persister.may_restart:
            self._feed(Trigger.PERSISTER_LOST)
        else:
            self._feed(Trigger.PERSISTER_GIVEN_UP)
