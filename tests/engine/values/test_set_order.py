"""Sets are what they were, whatever was added and removed before: now and from then on."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

import pytest

from pitstop.engine.values import set_order

_MAKERS: dict[str, Callable[[random.Random], Any]] = {
    "numbers": lambda draw: draw.randrange(10_000_000),
    "pairs": lambda draw: (draw.randrange(999), draw.randrange(999)),
}


@pytest.fixture(autouse=True)
def _hash_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")


def _mixed(value: set[Any], other: list[Any], draw: random.Random) -> None:
    for each in other:
        value.add(each)
        if draw.random() < 0.4 and value:
            value.discard(draw.choice(sorted(value)))


def _popped(value: set[Any], other: list[Any], draw: random.Random) -> None:
    for each in other:
        value.add(each)
        if draw.random() < 0.7 and value:
            value.pop()


def _in_groups(value: set[Any], other: list[Any], draw: random.Random) -> None:
    for begin in range(0, len(other), 9):
        value |= set(other[begin : begin + 9])
        value -= set(draw.sample(sorted(value), len(value) // 3))


_CHANGES = {
    "grown": lambda value, other, _: value.update(other),
    "shrunk": lambda value, _, draw: value.difference_update(draw.sample(sorted(value), 3)),
    "mixed": _mixed,
    "popped": _popped,
    "in_groups": _in_groups,
}


@pytest.mark.parametrize("kind", _MAKERS)
@pytest.mark.parametrize("change", _CHANGES)
@pytest.mark.parametrize("count", [4, 5, 12, 18, 60, 400])
def test_a_set_that_was_changed(kind: str, change: str, count: int) -> None:
    told = [seed for seed in range(5) if not _is_brought_back(kind, change, count, seed)]
    assert len(told) <= 1


def _is_brought_back(kind: str, change: str, count: int, seed: int) -> bool:
    """False where it was told that it is not; else it behaves as the first one from then on."""
    draw = random.Random(seed)
    items, more, later = (list({_MAKERS[kind](draw): None for _ in range(count)}) for _ in range(3))
    one, other = set(items), set(items)
    _CHANGES[change](one, more, draw)
    try:
        set_order.fill(other, set_order.items_of(one))
    except ValueError:
        return False
    for value in (one, other):
        _mixed(value, later, random.Random(seed))
        _popped(value, later[: count // 2], random.Random(seed))
    assert list(other) == list(one)
    return True


def test_a_set_that_is_too_large_to_be_read_comes_in_its_order() -> None:
    large = set(range(0, 9000, 2))
    assert set_order.layout_of(large) == ()
    other = set(range(100))
    set_order.fill(other, set_order.items_of(large))
    assert list(other) == list(large)


@pytest.mark.parametrize(
    "change",
    [
        frozenset,
        lambda items: frozenset(set(items)),
        lambda items: frozenset(items) | {1, 2},
        lambda items: frozenset(items) - {*items[::10]},
    ],
    ids=["grown", "at_once", "united", "without_some"],
)
def test_a_frozen_set(change: Callable[[list[Any]], frozenset[Any]]) -> None:
    draw = random.Random(5)
    for count in (3, 20, 60, 90):
        items = change([draw.randrange(1 << 50) for _ in range(count)])
        assert set_order.is_frozen_again(items)
        assert list(set_order.frozen(set_order.items_of(items))) == list(items)


def test_an_order_that_no_history_has_is_told() -> None:
    contents = set_order.items_of({3, 7, 5})
    with pytest.raises(ValueError, match="another order"):
        set_order.fill(set(), [contents[0], 5, 3, 7])
    with pytest.raises(ValueError, match="another order"):
        set_order.fill(set(), [(), 5, 3, 7])


@pytest.mark.parametrize(
    ("items", "seed", "has_order"),
    [
        ([1, 2.5, (3, 4)], "", True),
        (["a", PurePath("b"), ("c", b"d")], "0", True),
        (["a"], "random", False),
        ([(1, "a")], "", False),
        ([None], "0", False),
        ([object()], "0", False),
    ],
    ids=["numbers", "texts", "random", "tuple", "none", "object"],
)
def test_which_items_come_in_one_order(
    items: list[Any], seed: str, has_order: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", seed)
    assert set_order.has_order(items) == has_order
    if not has_order:
        set_order.fill(set(), [(), *items[::-1]])


@pytest.mark.parametrize(
    "layout",
    [
        (1 << 40, 0, 3),
        (9, 0, 3),
        (8, 1 << 40, 3),
        (8, -1, 3),
        (8, 0, 8),
        (8, 0, -9),
        (8,),
        (8, 0, 3, 4),
        (8, 0, "3"),
        ([8], 0, 3),
        7,
    ],
)
def test_a_layout_that_no_table_has_is_refused(layout: Any) -> None:
    with pytest.raises(ValueError, match=r"table|values|zip|order"):
        set_order.fill({1}, [layout, 3])
    with pytest.raises(ValueError, match=r"table|values|zip|order"):
        set_order.frozen([layout, 3])
