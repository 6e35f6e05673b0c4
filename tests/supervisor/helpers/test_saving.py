"""A persister that cannot be had now is tried again: a whole run is not trained without saving."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from pitstop.events import Event
from pitstop.link.messages import Persisted, SnapshotReport, Welcome
from pitstop.link.settings import Settings
from pitstop.link.wire import Connection, pair
from pitstop.store.catalog import Catalog
from pitstop.store.retention import RetentionPolicy
from pitstop.store.run_folder import open_or_create
from pitstop.supervisor.helpers import saving as saving_module
from pitstop.supervisor.helpers.helper_link import PersisterLink, PersisterPlan
from pitstop.supervisor.helpers.restoring import Restoring
from pitstop.supervisor.helpers.saving import Saving
from pitstop.supervisor.lifecycle.occurrences import EventLoop, Occurrence
from pitstop.supervisor.lifecycle.table import Trigger
from pitstop.supervisor.processes.trainer_slot import TrainerSlot
from pitstop.supervisor.records.history import NO_LOSSES
from pitstop.supervisor.records.notices import NO_PERSISTER


class _Link(PersisterLink):
    """Has its persister played by the test, or cannot have one."""

    def __init__(self, plan: PersisterPlan) -> None:
        super().__init__(plan)
        self.refused = False
        self.persisters: list[Connection] = []

    def _start(self, *_: object, **__: object) -> Connection:
        if self.refused:
            raise BlockingIOError("Resource temporarily unavailable")
        self._starts += 1
        self.connection, persister = pair()
        self.persisters.append(persister)
        return self.connection


class _Attempt:
    """The saving of an attempt, and its persisters."""

    def __init__(self, folder: Path) -> None:
        run = open_or_create(folder / "run", ["train"], folder)
        log = folder / "persister.log"
        plan = PersisterPlan(run.path, 1, -1, -1, RetentionPolicy(), log, frozenset())
        self.link = _Link(plan)
        self.events: list[Event] = []
        self.signals: list[Trigger] = []
        self.event_loop = EventLoop()
        slot = TrainerSlot(self.event_loop, Welcome(1, "", 1, Settings(), -1, ()), -1)
        restoring = Restoring(Catalog(run.checkpoints), self.link, slot)
        self.saving = Saving(self.event_loop, self.link, restoring, NO_LOSSES, 10.0)
        self.link.start()
        self.saving.begin()

    def hear(self, told: Iterable[Occurrence]) -> None:
        """What the loop of the attempt does with it."""
        for each in told:
            if isinstance(each, Event):
                self.events.append(each)
            elif isinstance(each, Trigger):
                self.signals.append(each)

    def tick(self) -> None:
        self.hear(self.saving.tick())

    def finish(self) -> None:
        """The last save."""
        self.hear(self.saving.persist_last("stop"))
        self.hear(self.saving.finish())

    def lose_persister(self) -> None:
        """It dies, and is replaced as the lifecycle asks."""
        self.die()
        self.hear(self.saving.restart())

    def die(self) -> None:
        self.link.persisters[-1].close()
        self.hear(self.event_loop.turn(0))
        assert self.signals.pop() is Trigger.PERSISTER_LOST

    def asked(self) -> list[str]:
        """What the present persister was asked for."""
        return [message.message.type for message in self.link.persisters[-1].receive_ready()]

    def close(self) -> None:
        self.event_loop.close()
        self.link.lost()
        for each in self.link.persisters:
            each.close()


@pytest.fixture
def attempt(tmp_path: Path) -> Iterator[_Attempt]:
    made = _Attempt(tmp_path)
    yield made
    made.close()


def test_one_that_cannot_be_started_is_tried_again_in_time(
    attempt: _Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving_module, "_AGAIN_SECONDS", 0.0)
    attempt.link.refused = True
    attempt.lose_persister()
    for _ in range(3):
        attempt.tick()
    assert attempt.link.connection is None
    assert attempt.events == [NO_PERSISTER]

    attempt.link.refused = False
    attempt.tick()
    attempt.saving.taken(SnapshotReport(1, 10, 0, "requested", durable=True))
    attempt.tick()
    assert attempt.asked() == ["persist"]


def test_it_is_not_tried_at_once(attempt: _Attempt) -> None:
    attempt.link.refused = True
    attempt.lose_persister()
    attempt.link.refused = False
    attempt.tick()
    assert attempt.link.connection is None


def test_one_that_died_while_it_was_asked_is_asked_again_by_the_next(
    attempt: _Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving_module, "_AGAIN_SECONDS", 0.0)
    attempt.saving.taken(SnapshotReport(1, 10, 0, "requested", durable=True))
    attempt.tick()
    attempt.die()
    attempt.hear(attempt.saving.give_up())
    attempt.tick()
    attempt.saving.taken(SnapshotReport(2, 20, 0, "requested", durable=True))
    attempt.tick()
    assert attempt.asked() == ["persist"]


def test_the_last_save_tries_once_more(attempt: _Attempt) -> None:
    attempt.link.refused = True
    attempt.lose_persister()
    attempt.link.refused = False
    attempt.finish()
    assert attempt.asked() == ["persist", "finish"]
    assert attempt.signals == []


def test_a_last_save_without_a_persister_is_not_waited_for(attempt: _Attempt) -> None:
    attempt.link.refused = True
    attempt.lose_persister()
    attempt.finish()
    assert attempt.signals == [Trigger.PERSISTER_GIVEN_UP]


def test_a_new_trouble_after_a_save_is_told_again(
    attempt: _Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving_module, "_AGAIN_SECONDS", 0.0)
    attempt.link.refused = True
    attempt.lose_persister()
    attempt.link.refused = False
    attempt.tick()
    attempt.link.persisters[-1].send(Persisted(1, 0.1))
    attempt.hear(attempt.event_loop.turn(0))
    attempt.link.refused = True
    attempt.lose_persister()
    assert attempt.events == [NO_PERSISTER, NO_PERSISTER]
