"""Tests of pitstop.keras.fits.recognition."""

from __future__ import annotations

from types import MethodType, SimpleNamespace
from typing import Any

import pytest

from pitstop.engine.leaving import Refused
from pitstop.engine.session.session import Session
from pitstop.engine.trainings.course import decide
from pitstop.engine.trainings.identity import Identity, RestorePoint
from pitstop.engine.trainings.trainings import Trainings
from pitstop.events import Event, Notice
from pitstop.keras.fits.recognition import FitBeginning, Recognition
from pitstop.link.beacon import Beacon
from pitstop.link.settings import Settings

IDENTITY = Identity(frames=("main",), complete=True, program="new", seed="1")
SAVED = RestorePoint("00000012", 12, 0, "", identity=IDENTITY)
OLDER = Identity(frames=("train",), complete=True, program="old", seed="2")


def begins(
    identity: Identity, told: list[Event], *, agreed: bool = True, force: bool = False
) -> FitBeginning:
    """How a `fit` begins in a run with an interrupted one; raises `Refused` if it may not."""
    trainings = Trainings([SAVED], Beacon.create())
    lockstep = SimpleNamespace(agreed=agreed)
    snapshots = SimpleNamespace(lockstep=lockstep, milestones=SimpleNamespace(left_out=0))
    session: Any = SimpleNamespace(
        trainings=trainings,
        settings=Settings(force=force),
        report=told.append,
        snapshots=snapshots,
        kernel=False,
    )
    session.refuse = MethodType(Session.refuse, session)
    found = trainings.match(identity)
    course = decide(found, identity, take=(), force=force)
    return Recognition(session)._follow(None, identity, found, course)


def test_another_training_of_a_member_is_refused() -> None:
    """The other members continue from the saved state."""
    told: list[Event] = []
    with pytest.raises(Refused):
        begins(OLDER, told)
    [notice] = told
    assert isinstance(notice, Notice)
    assert notice.code == "resume_refused"
    assert "other members continue" in notice.message
    assert "random seed 2, was 1" in notice.message


@pytest.mark.parametrize("given", [{"agreed": False}, {"force": True}])
def test_another_training_starts_from_its_beginning(given: dict[str, bool]) -> None:
    assert begins(OLDER, [], **given).point is None


def test_the_saved_training_of_a_member_goes_on() -> None:
    assert begins(IDENTITY, []).point == SAVED
