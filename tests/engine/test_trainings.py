"""Tests of pitstop.engine.trainings."""

from pitstop.engine.identity import Identity, RestorePoint
from pitstop.engine.trainings import Trainings
from pitstop.link.beacon import Beacon

FINISHED = RestorePoint("00000009", 9, 0, "fit_end", identity=Identity(frames=("a",)))
INTERRUPTED = RestorePoint("00000012", 12, 1, "", identity=Identity(frames=("b",)))


def test_a_training_that_has_not_ended_is_interrupted_until_a_call_is_it() -> None:
    trainings = Trainings([FINISHED, INTERRUPTED], Beacon.create())
    assert trainings.has_interrupted()
    found = trainings.match(Identity(frames=("b",))).training
    assert found == INTERRUPTED
    trainings.claim(found)
    assert not trainings.has_interrupted()


def test_finished_trainings_are_not_interrupted() -> None:
    assert not Trainings([FINISHED], Beacon.create()).has_interrupted()
