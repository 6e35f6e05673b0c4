"""Saves snapshots to disk through the persister, and replaces it when it dies."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

from pitstop.errors import PeerClosed
from pitstop.events import from_record
from pitstop.link import messages
from pitstop.link.wire import Received
from pitstop.record import Frozen
from pitstop.supervisor.helpers.helper_link import PersisterLink
from pitstop.supervisor.helpers.restoring import Restoring
from pitstop.supervisor.lifecycle.occurrences import EventLoop, Occurrence
from pitstop.supervisor.lifecycle.table import Trigger
from pitstop.supervisor.records.history import NO_LOSSES, Losses, optimal_interval_seconds
from pitstop.supervisor.records.notices import NO_PERSISTER, SAVE_LEFT, SAVE_TAKES_LONG

FIRST_SECONDS = 5.0
LEAST_INTERVAL_SECONDS = 10.0
LEAST_AFTER_LOSS_SECONDS = 1.0
COST_FACTOR = 50
"""The pause between two checkpoints, in durations of a checkpoint: 2 % of the disk's time."""
_NEVER = float("inf")
_AGAIN_SECONDS = 60.0
"""The time until another persister is tried, when there is none: memory may be free again."""


def interval_seconds(took_seconds: float, mean_seconds: float) -> float:
    """The time from one checkpoint to the next.

    By the cost of the last one alone while the run has never lost its memory (`mean_seconds` is
    infinite); else the optimum for that rate of losses, if it is shorter.
    """
    by_cost = max(LEAST_INTERVAL_SECONDS, COST_FACTOR * took_seconds)
    if math.isinf(mean_seconds):
        return by_cost
    optimum = optimal_interval_seconds(took_seconds, mean_seconds)
    return min(max(optimum, LEAST_AFTER_LOSS_SECONDS), by_cost)


class Persisting(Frozen):
    """What is known about snapshots and checkpoints; the newest whole snapshot is always taken."""

    ready_seconds: float  # the earliest time for the next one that is not urgent
    newest: messages.SnapshotReport | None = None
    urgent: str = ""  # reason of the newest snapshot that must be durable, or empty
    saved_sequence: int = 0
    busy: bool = False
    interval_seconds: float = 0.0  # the time between checkpoints at present, 0 before the first
    losses: Losses = NO_LOSSES
    started_seconds: float = 0.0

    @classmethod
    def start(cls, now_seconds: float, losses: Losses = NO_LOSSES) -> Self:
        ready_seconds = now_seconds + FIRST_SECONDS
        return cls(ready_seconds, losses=losses, started_seconds=now_seconds)

    def taken(self, snapshot: messages.SnapshotReport) -> Self:
        urgent = snapshot.reason if snapshot.durable else self.urgent
        return replace(self, newest=snapshot, urgent=urgent)

    def hurried(self, reason: str) -> Self:
        return replace(self, urgent=self.urgent or reason)

    def due(self, now_seconds: float) -> str:
        if self.busy or not self.unsaved:
            return ""
        if self.urgent:
            return self.urgent
        return "cadence" if now_seconds >= self.ready_seconds else ""

    @property
    def unsaved(self) -> bool:
        return self.newest is not None and self.newest.sequence > self.saved_sequence

    def asked(self) -> Self:
        return replace(self, busy=True, urgent="")

    def answered(self, saved_sequence: int, now_seconds: float, took_seconds: float) -> Self:
        """The persister is done; `saved_sequence` is 0 when it had nothing to do."""
        saved_sequence = max(self.saved_sequence, saved_sequence)
        mean_seconds = self.losses.mean_seconds(now_seconds - self.started_seconds)
        interval = interval_seconds(took_seconds, mean_seconds)
        behind = self.newest is not None and self.newest.sequence > saved_sequence
        return replace(
            self,
            busy=False,
            urgent=self.urgent if behind else "",
            saved_sequence=saved_sequence,
            interval_seconds=interval,
            ready_seconds=now_seconds + interval,
        )

    def failed(self, now_seconds: float) -> Self:
        answered = self.answered(0, now_seconds, 0.0)
        return replace(answered, ready_seconds=now_seconds + LEAST_INTERVAL_SECONDS)


@dataclass(eq=False)
class Saving:
    """Asks the persister of an attempt to save, at the right times."""

    _event_loop: EventLoop
    _persister: PersisterLink
    _restoring: Restoring
    _losses: Losses
    _patience_seconds: float  # the longest wait for the last save

    def __post_init__(self) -> None:
        self._policy = Persisting.start(time.monotonic(), self._losses)
        self._overdue_at = _NEVER
        self._told_overdue = False
        self._again_at = _NEVER
        self._told_given_up = False

    @property
    def interval_seconds(self) -> float | None:
        return self._policy.interval_seconds or None

    def begin(self) -> None:
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

    def taken(self, snapshot: messages.SnapshotReport) -> None:
        self._policy = self._policy.taken(snapshot)

    def persist_soon(self, reason: str) -> None:
        self._policy = self._policy.hurried(reason)

    def tick(self) -> Iterator[Occurrence]:
        if time.monotonic() >= self._again_at:
            yield from self._try_again()
        if self.is_overdue and not self._told_overdue:
            self._told_overdue = True
            yield SAVE_TAKES_LONG
        reason = self._policy.due(time.monotonic())
        if reason and self._persister.connection is not None:
            self._policy = self._policy.asked()
            self._persister.send(messages.Persist(reason))

    def persist_last(self, reason: str) -> Iterator[Occurrence]:
        if self._again_at != _NEVER:
            yield from self._try_again()
        self._persister.send(messages.Persist(self._policy.urgent or reason))

    def finish(self) -> tuple[Occurrence, ...]:
        if self._persister.connection is None:
            return (Trigger.PERSISTER_GIVEN_UP,)
        self._overdue_at = time.monotonic() + self._patience_seconds
        self._persister.finish()
        return ()

    @property
    def is_overdue(self) -> bool:
        """Whether the last save takes so long that the disk may have failed."""
        return time.monotonic() >= self._overdue_at

    def leave(self) -> tuple[Occurrence, ...]:
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
            case messages.EventReport(event):
                yield from_record(event)
            case messages.ImageAnswer() | messages.NoImage():
                yield from self._restoring.answered(received)
            case messages.Persisted(sequence, seconds):
                self._policy = self._policy.answered(sequence, time.monotonic(), seconds)
                self._told_given_up = False
            case messages.PersistFailed():
                self._policy = self._policy.failed(time.monotonic())

    def _ended(self) -> Trigger:
        self._forget()
        self._persister.lost()
        if self._persister.finished:
            return Trigger.PERSISTER_FINISHED
        if self._persister.may_restart:
            return Trigger.PERSISTER_LOST
        return Trigger.PERSISTER_GIVEN_UP
