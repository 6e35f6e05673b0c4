"""The conversation with the process that trains."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from pitstop.events import Event, Notice, to_record
from pitstop.link.beacon import Beacon
from pitstop.link.messages import (
    ArenaOffer,
    EventReport,
    Hello,
    RestoreRequest,
    SnapshotReport,
    Welcome,
)
from pitstop.link.settings import Settings
from pitstop.link.wire import PROTOCOL, Connection, pair
from pitstop.supervisor.lifecycle.occurrences import (
    ArenaReceived,
    EventLoop,
    Occurrence,
    TrainerCameIn,
    TrainerLeft,
)
from pitstop.supervisor.processes.trainer_slot import TrainerSlot, refusal
from tests.messages import body_of

_HELLO = Hello(PROTOCOL, 5, "3.11", ["x"])


@dataclass
class _Room:
    trainer_slot: TrainerSlot
    event_loop: EventLoop
    trainer: Connection
    heard: list[Occurrence] = field(default_factory=list)

    def offer(self, connection: Connection, **changes: Any) -> bool:
        before = len(self.heard)
        self.heard += self.trainer_slot.offer(connection, replace(_HELLO, **changes))
        return any(isinstance(each, TrainerCameIn) for each in self.heard[before:])

    def turn(self) -> None:
        self.heard += self.event_loop.turn(1)

    def drain(self) -> None:
        self.heard += self.trainer_slot.drain()

    @property
    def events(self) -> list[Event]:
        return [each for each in self.heard if isinstance(each, Event)]

    @property
    def left(self) -> int:
        return self.heard.count(TrainerLeft())


@pytest.fixture
def room() -> Iterator[_Room]:
    event_loop = EventLoop()
    welcome = Welcome(1, "/run", 3, Settings(), 12, ())
    trainer_slot = TrainerSlot(event_loop, welcome, Beacon.create().fd)
    ours, theirs = pair()
    room = _Room(trainer_slot, event_loop, theirs)
    assert room.offer(ours)
    yield room
    event_loop.close()
    theirs.close()
    if trainer_slot.connection is not None:
        trainer_slot.connection.close()


def test_welcome_is_sent_once_with_the_shared_page(room: _Room) -> None:
    room.trainer_slot.welcome(())
    room.trainer_slot.welcome(())
    room.trainer.send(EventReport(event=to_record(Notice("a", "b"))))
    answer = room.trainer.receive()
    assert answer.message.type == "welcome"
    assert (body_of(answer)["attempt"], body_of(answer)["lost_from_step"]) == (3, 12)
    Beacon(answer.fds[0])
    room.turn()
    assert room.events == [Notice("a", "b")]


def test_second_process_is_refused_while_the_first_is_there(room: _Room) -> None:
    ours, theirs = pair()
    assert not room.offer(ours, pid=6)
    answer = theirs.receive()
    assert (answer.message.type, body_of(answer)["reason"]) == (
        "refusal",
        "process 5 already trains in this run",
    )
    theirs.close()


def test_a_process_that_reports_once_more_is_heard_on_its_newest_connection(room: _Room) -> None:
    room.trainer.send(EventReport(to_record(Notice("a", "first"))))
    ours, theirs = pair()
    assert room.offer(ours)
    theirs.send(EventReport(to_record(Notice("b", "then"))))
    room.trainer.close()
    room.turn()
    assert room.events == [Notice("a", "first"), Notice("b", "then")]
    theirs.close()
    room.turn()
    room.heard += room.event_loop.turn(0)
    assert (room.trainer_slot.connected, room.left) == (False, 1)


def test_what_a_dead_trainer_said_is_still_heard(room: _Room) -> None:
    snapshot = SnapshotReport(2, 9, 1, "cadence", durable=False)
    room.trainer.send(ArenaOffer(size_bytes=1), [room.trainer.fileno()])
    room.trainer.send(snapshot)
    room.trainer.send(RestoreRequest(checkpoint="a"))
    room.trainer.close()
    room.drain()
    _, arena, *said = room.heard
    assert said == [snapshot, RestoreRequest("a")]
    assert not room.trainer_slot.connected
    assert isinstance(arena, ArenaReceived)
    os.close(arena.fd)


def test_trainer_that_left_frees_the_seat(room: _Room) -> None:
    room.trainer.close()
    room.turn()
    assert not room.trainer_slot.connected
    assert room.trainer_slot.left_at is not None
    assert (room.trainer_slot.present_pid, room.trainer_slot.pid) == (0, 5)
    assert room.left == 1
    ours, theirs = pair()
    assert room.offer(ours, pid=6)
    assert room.trainer_slot.present_pid == 6
    assert room.trainer_slot.left_at is None
    theirs.close()


@pytest.mark.parametrize(
    ("protocol", "pid", "seated", "taken", "text"),
    [
        (PROTOCOL, 6, 0, False, ""),
        (PROTOCOL, 6, 5, True, "process 5 already trains"),
        (PROTOCOL, 5, 5, True, ""),
        (PROTOCOL + 1, 6, 0, False, "protocol"),
    ],
)
def test_refusals(protocol: int, pid: int, seated: int, taken: bool, text: str) -> None:
    hello = replace(_HELLO, protocol=protocol, pid=pid)
    reason = refusal(hello, seated, slot_taken=taken)
    assert (text in reason) if text else (reason == "")
