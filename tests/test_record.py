"""A record is what a frozen dataclass is."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from pitstop.record import Frozen


class _Point(Frozen):
    x: int
    names: tuple[str, ...] = field(default=())
    unit: ClassVar[str] = "m"


class _Named(_Point):
    name: str = ""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class _Usual:
    x: int
    names: tuple[str, ...] = ()


def test_it_says_what_it_is_as_a_dataclass_does() -> None:
    assert repr(_Point(3)) == repr(_Usual(3)).replace("_Usual", "_Point")
    assert str(_Named(1, (), "left")) == "left"


def test_equal_members_of_one_class_make_equal_records() -> None:
    assert _Point(1) == _Point(1, ()) != _Point(2)
    assert len({_Point(1), _Point(1), _Point(2)}) == 2
    assert _Point(1) != _Named(1)


def test_nothing_of_it_changes() -> None:
    point = _Point(1)
    for name in ("x", "names", "unit", "anything"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(point, name, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x
    assert point == _Point(1)


def test_what_takes_dataclasses_takes_it() -> None:
    named = _Named(1, ("a",), "left")
    assert dataclasses.asdict(named) == {"x": 1, "names": ("a",), "name": "left"}
    assert dataclasses.replace(named, x=2) == _Named(2, ("a",), "left")
    assert pickle.loads(pickle.dumps(named)) == copy.deepcopy(named) == named
