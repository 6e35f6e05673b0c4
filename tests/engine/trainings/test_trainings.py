"""Tests of pitstop.engine.trainings.trainings."""

from dataclasses import replace

from pitstop.engine.trainings.identity import Identity, RestorePoint
from pitstop.engine.trainings.trainings import Trainings
from pitstop.link.beacon import Beacon

FINISHED = RestorePoint("00000009", 9, 0, "fit_end", identity=Identity(frames=("a",)))
INTERRUPTED = RestorePoint("00000012", 12, 1, "", identity=Identity(frames=("b",)))


def test_a_training_that_has_not_ended_is_interrupted_until_a_call_is_it() -> None:
    trainings = Trainings([FINISHED, INTERRUPTED], Beacon.create())
    assert trainings.has_interrupted(Identity())
    assert not trainings.has_interrupted(Identity(program="edited"))
    found = trainings.match(Identity(frames=("b",))).training
    assert found == INTERRUPTED
    trainings.claim(found)
    assert not trainings.has_interrupted(Identity())


def test_finished_trainings_are_not_interrupted() -> None:
    assert not Trainings([FINISHED], Beacon.create()).has_interrupted(Identity())


def test_the_newest_is_missed_until_a_call_goes_on_with_it() -> None:
    trainings = Trainings([FINISHED, INTERRUPTED], Beacon.create())
    trainings.claim(FINISHED)
    assert trainings.misses_newest
    trainings.claim(INTERRUPTED)
    assert not trainings.misses_newest
    assert not Trainings([], Beacon.create()).misses_newest


def test_a_finished_training_is_missed_by_a_call_in_its_place() -> None:
    """A script may leave it out where its result is in a file."""
    identity = replace(FINISHED.identity, complete=True)
    trainings = Trainings([replace(FINISHED, identity=identity)], Beacon.create())
    trainings.match(replace(identity, frames=("b",)))
    assert not trainings.misses_newest
    trainings.match(replace(identity, settings={"loss": "mae"}))
    assert trainings.misses_newest


def test_what_is_left_out_behind_a_training_that_is_repeated() -> None:
    """A script that always trains its first model, and leaves out finished trials behind it."""
    identities = [Identity(frames=("a",), complete=True)]
    identities += [
        Identity(ordinal=1 + trial, frames=("b",), counters=(f"trial={trial}",), complete=True)
        for trial in range(3)
    ]
    points = [
        RestorePoint(f"{number:08d}", number, number, "fit_end", identity=each)
        for number, each in enumerate(identities[:3])
    ]
    trainings = Trainings(points, Beacon.create())
    trainings.match(identities[0])
    trainings.claim(points[0])
    new = replace(identities[3], ordinal=1)
    trainings.match(new)
    assert trainings.left_out(new) == identities[1:3]
    assert trainings.left_out(identities[2], points[2]) == identities[1:2]
    trainings.claim(points[2])
    trainings.match(new)
    assert not trainings.left_out(new)


def test_what_is_trained_anew_is_not_left_out() -> None:
    """The user has changed the second of three."""
    identities = [Identity(frames=(name,), complete=True, program="old") for name in "abc"]
    points = [
        RestorePoint(f"{number:08d}", number, number, "fit_end", identity=each)
        for number, each in enumerate(identities)
    ]
    trainings = Trainings(points, Beacon.create())
    for each in identities:
        changed = replace(each, program="new", settings={"loss": "mae"})
        trainings.match(changed)
        assert trainings.left_out(changed) == []


def test_a_saved_training_is_awaited_from_its_own_place_on() -> None:
    points = [
        RestorePoint(f"{number:08d}", number, number, "", identity=Identity(ordinal=ordinal))
        for number, ordinal in enumerate((0, 3))
    ]
    trainings = Trainings(points, Beacon.create())
    awaits = [trainings.awaits]
    trainings.claim(points[0])
    for _ in range(4):
        awaits.append(trainings.awaits)
        trainings.count(())
    trainings.claim(points[1])
    assert [*awaits, trainings.awaits] == [True, False, False, False, True, False]


def test_of_a_loop_it_is_not_known_when_it_comes() -> None:
    loop = RestorePoint("00000003", 3, 0, "", is_loop=True)
    assert Trainings([loop], Beacon.create()).awaits
