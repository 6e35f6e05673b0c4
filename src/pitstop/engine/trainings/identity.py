"""What a training is, by named parts; and a saved one, to be known again by them."""

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Self

from pitstop.record import Frozen, build

_DIGEST = re.compile("[0-9a-f]{16}")


class Identity(Frozen):
    """A training as it begins; mappings hold short texts by name, to name a difference."""

    ordinal: int = 0
    visit: int = 0  # how often its frames had called one before, in this process
    left_out: int = 0  # of how many trainings before it the end was not worth saving
    process: str = ""
    program: str = ""
    command: str = ""
    # file, function, what is called, and which of the equal calls in that function it is; the
    # outermost first.  Edits elsewhere do not change them.
    frames: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()  # what the loops around it count with: "trial=1"
    arguments: tuple[str, ...] = ()
    complete: bool = False  # frames, counters and arguments tell it from all others
    values: str = ""  # a digest of the plain values that the callers hold
    # digests of what the callers' names hold: plain values, attributes, numbers of items
    names: dict[str, str] = field(default_factory=dict)
    reached: str = ""  # a digest of the script's code and plain values that the training leads to
    # digests of the variables of the environment that its code reads, by name
    variables: dict[str, str] = field(default_factory=dict)
    seed: str = ""  # what the script seeded TensorFlow with, empty for nothing
    reseeded: bool = False  # the script seeded anew since the training before, in this process
    random: dict[str, str] = field(default_factory=dict)
    entropy: str = ""  # a digest of all streams, where the run's entropy seeds them; else empty
    # class, configuration and variables of the model, code of its classes
    architecture: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)
    digested: bool = False  # the digests cover the data; not where code makes it while it is read
    # the trainings that read the same dataset before, if it draws anew in each reading
    readers: tuple[str, ...] = ()
    shuffles: str = ""  # how often the script had read them itself; empty where nobody knows
    # of a notebook: digests of the cell that trains, and of the code that it runs
    cells: dict[str, str] = field(default_factory=dict)


class Difference(Frozen):
    """Something that is not as it was; `before` or `now` is empty where there was nothing."""

    name: str
    before: str
    now: str

    def __str__(self) -> str:
        if not self.before:
            return f"{self.name} {self.now} is new"
        if not self.now:
            return f"{self.name} {self.before} is gone"
        if _DIGEST.fullmatch(self.before) and _DIGEST.fullmatch(self.now):
            return f"{self.name} (changed)"
        return f"{self.name} {self.now}, was {self.before}"


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[Difference, ...]:
    names = [*now, *(name for name in before if name not in now)]
    pairs = ((name, before.get(name, ""), now.get(name, "")) for name in names)
    return tuple(Difference(*each) for each in pairs if each[1] != each[2])


class RestorePoint(Frozen):
    """A state to restore: a finished training, or one to continue."""

    checkpoint: str
    step: int
    fit: int
    milestone: str  # what has ended with it, empty in the middle of a training
    epoch: int = 0  # counted from 0
    identity: Identity = field(default_factory=Identity)
    is_loop: bool = False  # it has no identity, and is known by its number
    begins: bool = False  # no step of the training was computed

    @property
    def finished(self) -> bool:
        return bool(self.milestone)

    @classmethod
    def from_json(cls, point: dict[str, Any]) -> Self:
        info = point["info"]
        described = info.get("identity", {})
        try:
            identity = build(Identity, "identity", described)
        except ValueError:
            # Pitstop did not write it: it is like no training that there is.
            identity = Identity()
        epoch, first_epoch = info.get("epoch", 0), identity.settings.get("initial_epoch", "0")
        begins = (str(epoch), info.get("step_in_epoch")) == (first_epoch, 0)
        position = info["step"], info["fit"], info["milestone"], epoch
        return cls(point["checkpoint"], *position, identity, not described, begins)
