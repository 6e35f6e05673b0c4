"""The supervisor of a session, played by a test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pitstop.engine.session.session import Session
from pitstop.engine.snapshots.state_capture import StateCapture
from pitstop.engine.trainings.identity import RestorePoint
from pitstop.events import (
    Event,
    from_record,
)
from pitstop.link.beacon import Beacon
from pitstop.link.messages import Welcome
from pitstop.link.settings import Settings
from pitstop.link.wire import Received, pair
from tests.messages import body_of, welcome

POINT = RestorePoint("step-00000009", 9, 0, "", is_loop=True)
VERSIONS = {"keras": "3.15.0"}


class Supervisor:
    """The other end of one session."""

    def __init__(self, run_dir: Path, settings: Settings) -> None:
        self.beacon = Beacon.create()
        self.run_dir = run_dir
        self.settings = settings
        self.connection, self.trainer = pair()
        self.session = Session(self.trainer, self.beacon, self.welcome())

    def welcome(self) -> Welcome:
        info = {"step": POINT.step, "fit": POINT.fit, "milestone": POINT.milestone}
        points = [{"checkpoint": POINT.checkpoint, "info": info}]
        return welcome(self.run_dir, self.settings, lost_from_step=11, points=points)

    def told(self, count: int) -> list[Received]:
        return [self.connection.receive() for _ in range(count)]

    def event(self) -> Event:
        (message,) = self.told(1)
        assert message.message.type == "event_report", message
        return from_record(body_of(message)["event"])


MakeSupervisor = Callable[..., Supervisor]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[MakeSupervisor]:
    made: list[Supervisor] = []

    def make_one(run_dir: Path = tmp_path, **settings: Any) -> Supervisor:
        made.append(Supervisor(run_dir, Settings(**settings)))
        return made[-1]

    yield make_one
    for supervisor in made:
        supervisor.connection.close()
        supervisor.trainer.close()
        os.close(supervisor.beacon.fd)


def never() -> StateCapture:
    raise AssertionError("no cut was to be taken")
