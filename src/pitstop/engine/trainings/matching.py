"""Which saved training a call goes on with.  Pure.

A finished outcome goes only to a training that is the same in every part; a state in the middle
also where the user has changed settings of what is provably the same training.
"""

import enum
from collections.abc import Sequence
from dataclasses import replace

from pitstop.engine.trainings.identity import Difference, Identity, RestorePoint, differences
from pitstop.record import Frozen

RANDOM_SEED = "random seed"
INITIAL_EPOCH = "initial_epoch"
EPOCHS = "epochs"
_Points = Sequence[RestorePoint]


class TrainingVerdict(enum.Enum):
    SAME = "same"  # one of them
    CHANGED = "changed"  # one of them, and the user has changed settings of it
    EDITED = "edited"  # it stands in the place of one, with another model or other data
    RESUMED = "resumed"  # one of them, which the script itself has brought to a later epoch
    EPOCHS = "epochs"  # one of them, but for the number of its epochs
    ANOTHER = "another"  # none of them


class TrainingMatch(Frozen):
    """What is known of a call; for `ANOTHER` the training is the nearest one."""

    verdict: TrainingVerdict
    training: RestorePoint | None = None
    differences: tuple[Difference, ...] = ()


def match(now: Identity, saved: _Points, *, strayed: bool = False) -> TrainingMatch:
    saved = [each for each in saved if not each.finished or _reads_on(now, each.identity)]
    if now.cells:
        # The first that is the same in every part; the order in which cells run proves nothing.
        alike = (each for each in saved if now.random == each.identity.random)
        same = next((each for each in alike if not what_differs(each.identity, now)), None)
        return TrainingMatch(TrainingVerdict.SAME, same) if same else _another(now, saved)
    if strayed:
        begins = [each for each in saved if now.random == each.identity.random]
        return _match(now, begins) if begins else _another(now, saved)
    return _match(now, saved)


def _match(now: Identity, saved: _Points) -> TrainingMatch:
    same = [each for each in saved if _is_at_its_place(now, each, saved)]
    same += [each for each in saved if _computes_the_same(now, each.identity)]
    if same:
        return TrainingMatch(TrainingVerdict.SAME, same[0])
    for each in saved:
        if _is_but_for_epochs(now, each, saved):
            found = what_differs(each.identity, now)
            return TrainingMatch(TrainingVerdict.EPOCHS, each, found)
    for each in saved:
        if is_same_call(now, each.identity, saved):
            found = what_differs(each.identity, now)
            verdict = _verdict_of(now, each, found, saved)
            if verdict is not TrainingVerdict.ANOTHER:
                return TrainingMatch(verdict, each, found)
    return _another(now, saved)


def _reads_on(now: Identity, before: Identity) -> bool:
    """Whether its data had been read by the same trainings; by fewer where some are left out."""
    earlier = iter(before.readers)
    return all(reader in earlier for reader in now.readers)


def _is_but_for_epochs(now: Identity, training: RestorePoint, saved: _Points) -> bool:
    before = training.identity
    alike = replace(now, settings={**now.settings, EPOCHS: before.settings.get(EPOCHS, "")})
    if alike == now or what_differs(before, alike):
        return False
    if _computes_the_same(alike, before):
        return True
    if not (is_same_call(alike, before, saved) and _is_alone(alike, saved)):
        return False
    by_user = is_changed(now, before) or not training.finished
    return now.random == before.random or (by_user and not now.seed)


def _verdict_of(
    now: Identity, training: RestorePoint, found: Sequence[Difference], saved: _Points
) -> TrainingVerdict:
    before = training.identity
    names = {each.name for each in found}
    if is_changed(now, before):
        is_set = names <= {*now.settings, *before.settings, RANDOM_SEED}
        return TrainingVerdict.CHANGED if is_set else TrainingVerdict.EDITED
    if training.finished or not _is_alone(now, saved):
        # The script has chosen something else for it: a sweep that goes on, a random search.
        return TrainingVerdict.ANOTHER
    if names == {INITIAL_EPOCH}:
        return TrainingVerdict.RESUMED
    return TrainingVerdict.EDITED if names <= {*now.data, *before.data} else TrainingVerdict.ANOTHER


def what_differs(before: Identity, now: Identity) -> tuple[Difference, ...]:
    seed = differences({RANDOM_SEED: before.seed}, {RANDOM_SEED: now.seed})
    return (
        *differences(before.settings, now.settings),
        *seed,
        *differences(before.architecture, now.architecture),
        *differences(before.data, now.data),
        *differences(before.cells, now.cells),
    )


def is_changed(now: Identity, before: Identity) -> bool:
    return (now.program, now.command) != (before.program, before.command)


def is_same_call(now: Identity, before: Identity, saved: _Points) -> bool:
    if not _stands_where(now, before, saved):
        return False
    return _is_alone(now, saved) or (now.ordinal, now.visit) == (before.ordinal, before.visit)


def replaces(now: Identity, before: Identity) -> bool:
    places = [(each.frames, each.counters, each.arguments, each.process) for each in (now, before)]
    return places[0] == places[1] and (now.complete or is_changed(now, before))


def _stands_where(now: Identity, before: Identity, saved: _Points) -> bool:
    if (now.frames, now.counters) != (before.frames, before.counters):
        return False
    if now.process != before.process and not now.arguments:
        return False
    if now.arguments == before.arguments:
        return True
    return is_changed(now, before) and all(
        each.identity.arguments != now.arguments for each in saved
    )


def _is_alone(now: Identity, saved: _Points) -> bool:
    return now.complete and sum(_stands_where(now, each.identity, saved) for each in saved) == 1


def _is_at_its_place(now: Identity, training: RestorePoint, saved: _Points) -> bool:
    before = training.identity
    if what_differs(before, now) or not is_same_call(now, before, saved):
        return False
    if now.random == before.random:
        return _is_alone(now, saved) or not training.finished or _is_proven(now, before)
    # An unseeded script draws other numbers each time: its first weights tell nothing.
    if training.finished:
        return _is_alone(now, saved) and not is_changed(now, before)
    return _is_alone(now, saved) or not is_changed(now, before)


def _computes_the_same(now: Identity, before: Identity) -> bool:
    if what_differs(before, now) or now.random != before.random:
        return False
    same_place = (now.counters, now.arguments) == (before.counters, before.arguments)
    return _is_proven(now, before) and (same_place or is_changed(now, before))


def _is_proven(now: Identity, before: Identity) -> bool:
    """Whether nothing that is not compared can differ: not even what its code reads."""
    is_seeded = now.seed or (now.entropy and now.entropy == before.entropy)
    if not is_seeded or not now.digested:
        return False
    places = [(each.frames, each.counters, each.arguments) for each in (now, before)]
    if now.complete and places[0] == places[1]:
        return True
    moved = now.complete and (now.frames == before.frames or is_changed(now, before))
    reads_the_same = bool(now.reached) and now.reached == before.reached
    return reads_the_same and (moved or now.values == before.values)


def _another(now: Identity, saved: _Points) -> TrainingMatch:
    def distance(training: RestorePoint) -> tuple[bool, bool, int]:
        before = training.identity
        found = what_differs(before, now)
        return now.frames != before.frames, now.counters != before.counters, len(found)

    nearest = min(saved, key=distance, default=None)
    if nearest is None:
        return TrainingMatch(TrainingVerdict.ANOTHER)
    before = nearest.identity
    iteration = differences({"iteration": _iteration(before)}, {"iteration": _iteration(now)})
    found = (
        what_differs(before, now)
        # Which cells ran before, and how often, is no part of a notebook's training.
        or (() if now.cells else iteration)
        or differences(before.random, now.random)
    )
    return TrainingMatch(TrainingVerdict.ANOTHER, nearest, found)


def _iteration(identity: Identity) -> str:
    return " ".join((*identity.counters, *identity.arguments, f"visit {identity.visit + 1}"))
