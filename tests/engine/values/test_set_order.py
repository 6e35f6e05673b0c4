"""Sets come in the order that they had, whatever was added and removed before."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
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


def _grown(items: list[Any], _: random.Random) -> Iterator[set[Any]]:
    for base in (set[Any](), set[Any]()):
        yield base
        for each in items:
            base.add(each)


def _shrunk(items: list[Any], draw: random.Random) -> Iterator[set[Any]]:
    for base in (set(items), set(items)):
        yield base
        for each in draw.sample(items, len(items) // 2):
            base.discard(each)


def _changed(change: Callable[..., Iterator[set[Any]]], items: list[Any], seed: int) -> Any:
    """The set after the change, and one that is as it was before."""
    histories = change(items, random.Random(seed))
    changed = next(histories)
    return changed, next(histories)


@pytest.mark.parametrize("kind", _MAKERS)
@pytest.mark.parametrize("change", [_grown, _shrunk])
@pytest.mark.parametrize("count", [1, 4, 5, 6, 12, 18, 60, 300])
def test_a_set_that_was_changed(
    kind: str, change: Callable[..., Iterator[set[Any]]], count: int
) -> None:
    draw = random.Random(count)
    items = list({_MAKERS[kind](draw): None for _ in range(count)})
    changed, other = _changed(change, items, 7)
    set_order.fill(other, list(changed))
    assert list(other) == list(changed)


def test_a_set_from_which_items_were_removed_while_others_were_added() -> None:
    draw = random.Random(3)
    items = [draw.randrange(1 << 50) for _ in range(60)]
    changed = set[int]()
    for old, new in zip([*[0] * 20, *items], items, strict=False):
        changed.add(new)
        changed.discard(old)
    other = set[int]()
    set_order.fill(other, list(changed))
    assert list(other) == list(changed)


def test_a_frozen_set() -> None:
    draw = random.Random(5)
    items = frozenset(draw.randrange(1 << 50) for _ in range(60))
    assert list(set_order.frozen(list(items))) == list(items)
    assert set_order.is_frozen_again(items)
    assert not set_order.is_frozen_again(items - {*list(items)[::2]} | {1, 2, 3})


def test_an_order_that_no_history_has_is_told() -> None:
    others = {3, 7, 5}
    with pytest.raises(ValueError, match="another order"):
        set_order.fill(others, [5, 3, 7])
    assert others == {3, 5, 7}


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
        set_order.fill(set(), items[::-1])
