"""Which loop of the script this is, and whether it is the saved one: the same first step's bits."""

import enum
import re
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np

from pitstop.engine.trainings.identity import Identity, differences
from pitstop.engine.trainings.matching import is_changed
from pitstop.engine.values.python_state import Encoder, decode
from pitstop.record import Frozen, build
from pitstop.tensorflow import private

_VALUES_EACH = 16
_CLOSE = 1e-3
_MOST_OTHER = 0.1
_MOST_NAMES = 5

FirstStep = dict[str, np.ndarray[Any, Any]]


class Likeness(enum.Enum):
    """How two first steps are alike."""

    SAME = enum.auto()
    CLOSE = enum.auto()
    OTHER = enum.auto()


def look(variables: Iterable[Any]) -> FirstStep:
    """A few values of each variable; `exact` marks those that rounding does not change."""
    values, exact = [np.empty(0)], [np.empty(0, bool)]
    for variable in variables:
        if private.is_eager_variable(variable) and variable.dtype.is_numpy_compatible:
            array = np.asarray(private.as_numpy(private.hold_value(variable)))
            if array.dtype.kind in "fiub":
                stride = max(1, array.size // _VALUES_EACH)
                some = array.reshape(-1)[::stride].astype("float64")
                values.append(some)
                exact.append(np.full(some.size, array.dtype.kind != "f" or array.size == 1))
    return {"values": np.concatenate(values), "exact": np.concatenate(exact)}


def compare(one: FirstStep, other: FirstStep) -> Likeness:
    if not np.array_equal(one["exact"], other["exact"]):
        return Likeness.OTHER
    mine, its, exact = one["values"], other["values"], one["exact"]
    if np.array_equal(mine, its, equal_nan=True):
        return Likeness.SAME
    near = np.isclose(mine, its, rtol=_CLOSE, atol=1e-9, equal_nan=True)
    alike = bool(near[exact].all()) and (~near).mean() <= _MOST_OTHER
    return Likeness.CLOSE if alike else Likeness.OTHER


_OTHER_WEIGHTS = "its first step gives other values"
_OTHER_BITS = "the first step produces different bits than before"
_UNSEEDED = "the script sets no seed, and its first step gives other values than before"
_OTHER_VALUES = "variables of the script have different values than before when its loop starts"
_ARRAY = re.compile(r"=\w+\[[\d, ]*\] \w+$")


class LoopMatch(Frozen):
    """What a loop is to the saved one; it is that one where nothing is said.

    `another`: why it is another one, or one that the script has chosen other settings for.
    `changed`: why it cannot go on: the user has changed what it computes. `doubt`: why a resume is
    not exact.
    """

    another: str = ""
    changed: str = ""
    doubt: str = ""


class LoopIdentity(Frozen):
    """What a loop is known by: where the script calls its first step, and what that left behind."""

    place: Identity
    first_step: FirstStep

    def to_json(self, encoder: Encoder) -> dict[str, Any]:
        return {"place": vars(self.place), "first_step": encoder.encode(self.first_step)}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any], arrays: Mapping[str, memoryview]) -> Self:
        return cls(build(Identity, "identity", saved["place"]), decode(saved["first_step"], arrays))


def match(before: LoopIdentity, now: LoopIdentity) -> LoopMatch:
    likeness = compare(before.first_step, now.first_step)
    is_other = likeness is Likeness.OTHER
    doubt = "" if likeness is Likeness.SAME else _OTHER_BITS
    if is_changed(now.place, before.place):
        return LoopMatch(changed=_OTHER_WEIGHTS if is_other else "", doubt=doubt)
    if moved := _elsewhere(before.place, now.place):
        return LoopMatch(another=moved)
    if is_other:
        return LoopMatch(another=_OTHER_WEIGHTS) if now.place.seed else LoopMatch(doubt=_UNSEEDED)
    if not now.place.complete and now.place.values != before.place.values:
        # A sweep in a `while`: its trials may begin alike.
        names = [each.name for each in differences(before.place.names, now.place.names)]
        reason = f"{_OTHER_VALUES} ({', '.join(names[:_MOST_NAMES])})"
        return LoopMatch(another=reason) if now.place.seed else LoopMatch(doubt=reason)
    return LoopMatch(doubt=doubt)


def _elsewhere(before: Identity, now: Identity) -> str:
    if (now.frames, now.process) != (before.frames, before.process):
        return f"it is called in {now.frames[-1:]}, but was called in {before.frames[-1:]}"
    was, has = (_round(each) for each in (before, now))
    return f"it is at {has}, but was at {was}" if was != has else ""


def _round(place: Identity) -> str:
    # Batches that an unseeded script draws are others each time.
    told = (*place.counters, *place.arguments)
    return " ".join(each for each in told if place.seed or not _ARRAY.search(each))
