"""What a training is: named parts by which it is known again in another process."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Identity:
    """A training as it begins.

    Mappings hold short texts by name, so that a difference can be named.

    Attributes:
        visit: how often its frames had called one before, in this process.
        left_out: of how many trainings before it the end was not worth saving.
        process: which process of the script, empty for the first.
        frames: see `CallSite`, as the four below it.
        complete: frames, counters and arguments tell it from all others.
        values: a digest of the plain values that the callers hold.
        seed: what the script seeded TensorFlow with, empty for nothing.
        reseeded: the script seeded anew since the training before, in this process.
        random: digests of the random streams and of the first weights.
        architecture: class, configuration and variables of the model, code of its classes.
        digested: the digests cover the data; not where code makes it while it is read.
    """

    ordinal: int = 0
    visit: int = 0
    left_out: int = 0
    process: str = ""
    program: str = ""
    command: str = ""
    frames: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    complete: bool = False
    values: str = ""
    seed: str = ""
    reseeded: bool = False
    random: Mapping[str, str] = field(default_factory=dict)
    architecture: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    digested: bool = False

    def to_json(self) -> dict[str, Any]:
        """For a saved state, and for a manifest."""
        return {name: _plain(value) for name, value in vars(self).items()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Identity:
        """Reads what `to_json` made, but for unknown members; ValueError where one is malformed."""
        values = {}
        for each in dataclasses.fields(cls):
            if each.name in record:
                values[each.name] = _READERS[str(each.type)](record[each.name])
        return cls(**values)


@dataclass(frozen=True)
class Difference:
    """Something that is not as it was; `before` or `now` is empty where there was nothing."""

    name: str
    before: str
    now: str

    def __str__(self) -> str:
        if not self.before:
            return f"{self.name} {self.now} is new"
        if not self.now:
            return f"{self.name} {self.before} is gone"
        return f"{self.name} {self.now}, was {self.before}"


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[Difference, ...]:
    """What differs between two mappings of an identity, in the order of `now`."""
    names = [*now, *(name for name in before if name not in now)]
    pairs = ((name, before.get(name, ""), now.get(name, "")) for name in names)
    return tuple(Difference(*each) for each in pairs if each[1] != each[2])


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def _of_type(kind: type) -> Any:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError(f"an identity cannot have {value!r} for a {kind.__name__}")
        return value

    return read


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(_of_type(str), _of_type(list)(value)))


def _mapping(value: Any) -> dict[str, str]:
    text = _of_type(str)
    return {text(name): text(each) for name, each in _of_type(dict)(value).items()}


_READERS = {
    "int": _of_type(int),
    "str": _of_type(str),
    "bool": _of_type(bool),
    "tuple[str, ...]": _texts,
    "Mapping[str, str]": _mapping,
}
